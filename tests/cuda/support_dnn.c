#include "support_dnn.h"

#include "backend/cuda/library/api.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"

#include <stdio.h>

enum { ARCH = 90, DEVICE_BYTES_MOST = 4096 };

static buf device = BUF_INIT;
static api_table real;

void scene_begin(scene *s)
{
    *s = (scene){.backend.arch = ARCH, .program.arena = arena_create()};
    s->program.backend = &s->backend;
}

void scene_end(scene *s)
{
    dnn_graphs_destroy(&s->program);
    dnn_close(&s->backend);
    arena_destroy(&s->program.arena);
}

/* --- what would need a GPU --- */

static unsigned create(dnn_handle *ret)
{
    *ret = NULL;
    return API_SUCCESS;
}

static unsigned set_stream(dnn_handle h, cuda_stream stream)
{
    (void)h, (void)stream;
    return API_SUCCESS;
}

static unsigned set_attribute(dnn_desc d, unsigned a, unsigned type, int64_t n, const void *x)
{
    if (a == DNN_DEVICE_HANDLE)
        return real.cudnnBackendSetAttribute(d, DNN_DEVICE_JSON, DNN_IS_CHAR,
                                             (int64_t)device.size + 1, device.data);
    return real.cudnnBackendSetAttribute(d, a, type, n, x);
}

static void stand_in(void)
{
    real = api;
    api.cudnnCreate = create;
    api.cudnnSetStream = set_stream;
    api.cudnnBackendSetAttribute = set_attribute;
}

int dnn_tests_run(int argc, char **argv, const struct CMUnitTest *tests, size_t n)
{
    error err = ERROR_INIT;
    if (api_open(API_DNN, &err) != OK) {
        printf("SKIPPED: %s\n", err.text);
        return 77;
    }
    if (argc != 2 || fs_read(argv[1], DEVICE_BYTES_MOST, &device, &err) != OK) {
        fprintf(stderr, "usage: %s DEVICE.json\n", argv[0]);
        return 2;
    }
    stand_in();
    int failed = _cmocka_run_group_tests("cuDNN", tests, n, NULL, NULL);
    buf_fini(&device);
    return failed;
}
