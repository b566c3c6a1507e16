/* A plan of the installed cuDNN is made once, and then read from the user's cache. */
#include "support_dnn.h"

#include "backend/cuda/library/api.h"
#include "backend/cuda/library/dnn_conv.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/tequio-plans-XXXXXX";
static int n_searches; /* how often the library was asked for engines */
static unsigned (*real_create)(unsigned kind, dnn_desc *ret);

static unsigned count_searches(unsigned kind, dnn_desc *ret)
{
    n_searches += kind == DNN_HEURISTICS;
    return real_create(kind, ret);
}

static conv_operand operand(int64_t channels, int64_t positions)
{
    return (conv_operand){.type = DT_BF16, .at = {channels * positions, 1, channels}};
}

static conv_task convolution(int64_t batch)
{
    return (conv_task){.kind = TILE_BF16,
                       .batch = batch,
                       .groups = 1,
                       .channels = 64,
                       .maps = 64,
                       .in = {1, 14, 14},
                       .out = {1, 14, 14},
                       .kernel = {1, 3, 3},
                       .stride = {1, 1, 1},
                       .dilation = {1, 1, 1},
                       .pad = {0, 1, 1},
                       .x = operand(64, 196),
                       .w = operand(64, 9),
                       .y = operand(64, 196)};
}

/* Returns how often engines were looked for. */
static int plan(int64_t batch, size_t *ret_scratch)
{
    scene in;
    dnn_graph *g = NULL;
    error err = ERROR_INIT;
    conv_task t = convolution(batch);
    scene_begin(&in);
    n_searches = 0;
    if (dnn_conv_plan(&in.program, &t, PART_W, &g, &err) != OK)
        fail_msg("%s", err.text);
    *ret_scratch = dnn_scratch_bytes(g);
    scene_end(&in);
    return n_searches;
}

/* Calls f of every file of the cache; returns their number. */
static int each_file(void (*f)(const char *path))
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".plan")) {
            char *path = xasprintf("%s/%s", folder, e->d_name);
            if (f)
                f(path);
            free(path);
            n++;
        }
    closedir(d);
    return n;
}

static void spoil(const char *path)
{
    buf file = BUF_INIT;
    error err = ERROR_INIT;
    assert_int_equal(fs_read(path, 64 << 20, &file, &err), OK);
    ((char *)file.data)[file.size / 2] ^= 1;
    assert_int_equal(fs_write_atomic(path, file.data, file.size, &err), OK);
    buf_fini(&file);
}

static void cut(const char *path)
{
    assert_int_equal(truncate(path, 10), 0);
}

static void a_plan_is_made_once(void **state)
{
    (void)state;
    size_t made, read, other;
    assert_true(plan(8, &made) > 0);
    assert_int_equal(each_file(NULL), 1);
    assert_int_equal(plan(8, &read), 0);
    assert_int_equal(read, made);
    assert_true(plan(16, &other) > 0); /* another shape */
    assert_int_equal(each_file(NULL), 2);
}

static void a_damaged_one_is_made_anew(void **state)
{
    (void)state;
    size_t scratch;
    void (*const damages[])(const char *) = {spoil, cut};
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        (void)plan(8, &scratch);
        each_file(damages[i]);
        assert_true(plan(8, &scratch) > 0);
        assert_int_equal(plan(8, &scratch), 0);
    }
}

static void remove_file(const char *path)
{
    unlink(path);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_made_once),
        cmocka_unit_test(a_damaged_one_is_made_anew),
    };
    error err = ERROR_INIT;
    if (!mkdtemp(folder) || setenv("TEQUIO_CACHE", folder, 1) != 0)
        return 2;
    if (api_open(API_DNN, &err) == OK) {
        real_create = api.cudnnBackendCreateDescriptor;
        api.cudnnBackendCreateDescriptor = count_searches;
    }
    int failed = dnn_tests_run(argc, argv, tests, COUNT_OF(tests));
    each_file(remove_file);
    rmdir(folder);
    return failed;
}
