/*
 * Whether the cuDNN that is installed plans the graphs that are described to it. No GPU is needed:
 * the library plans for one it is told about, the H200 of h200.json, and engines that make their
 * code themselves load it into a driver that looks at none (driver.c, as libcuda.so.1 on the path).
 * Skipped where cuDNN is not.
 */
#include "backend/cuda/api.h"
#include "backend/cuda/dnn.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { DEVICE_BYTES_MOST = 4096 };

static buf device = BUF_INIT;
static api_table real;

/* --- what would need a driver --- */

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

/* --- scenes --- */

typedef struct scene {
    backend backend;
    backend_program program;
} scene;

static scene begin(void)
{
    return (scene){.program.arena = arena_create()};
}

static dnn_graph *begin_graph(scene *s)
{
    s->program.backend = &s->backend;
    return dnn_begin(&s->program);
}

static void end(scene *s)
{
    dnn_graphs_destroy(&s->program);
    dnn_close(&s->backend);
    arena_destroy(&s->program.arena);
}

static dnn_form matrix(unsigned type, int64_t rows, int64_t columns)
{
    return (dnn_form){type, 3, {1, rows, columns}, {rows * columns, columns, 1}};
}

static void add_product(dnn_graph *g, unsigned type)
{
    enum { M = 128, N = 64, K = 256 };
    const dnn_form a = matrix(type, M, K), b = matrix(type, K, N), y = matrix(type, M, N);
    dnn_desc left = dnn_operand(g, 0, &a), right = dnn_operand(g, 1, &b);
    dnn_desc made = dnn_operand(g, 2, &y);
    dnn_desc how = dnn_make(
        g, DNN_MATMUL, DNN_ATTRIBUTES({DNN_MATMUL_TYPE, DNN_IS_TYPE, 1, &(unsigned){DNN_F32}}));
    dnn_operation(g, DNN_OP_MATMUL,
                  DNN_ATTRIBUTES({DNN_OP_MATMUL_A, DNN_IS_DESCRIPTOR, 1, &left},
                                 {DNN_OP_MATMUL_B, DNN_IS_DESCRIPTOR, 1, &right},
                                 {DNN_OP_MATMUL_C, DNN_IS_DESCRIPTOR, 1, &made},
                                 {DNN_OP_MATMUL_HOW, DNN_IS_DESCRIPTOR, 1, &how}));
}

static void a_graph_is_planned(void **state)
{
    (void)state;
    scene s = begin();
    dnn_graph *g = begin_graph(&s);
    error err = ERROR_INIT;
    add_product(g, DNN_BF16);
    if (dnn_plan(g, false, &err) != OK)
        fail_msg("%s", err.text);
    end(&s);
}

static void what_is_refused_is_named(void **state)
{
    (void)state;
    scene s = begin();
    dnn_graph *g = begin_graph(&s);
    error err = ERROR_INIT;
    assert_null(
        dnn_make(g, DNN_MATMUL, DNN_ATTRIBUTES({DNN_MATMUL_TYPE, DNN_IS_INT64, 1, &(int64_t){0}})));
    add_product(g, DNN_BF16);
    assert_int_equal(dnn_plan(g, false, &err), E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "CUDNN_BACKEND_MATMUL_DESCRIPTOR: cuDNN, "
                                     "CUDNN_ATTR_MATMUL_COMP_TYPE: CUDNN_STATUS_BAD_PARAM"));
    end(&s);
}

static void products_of_float32_may_have_to_be_exact(void **state)
{
    (void)state;
    scene s = begin();
    dnn_graph *g = begin_graph(&s);
    error err = ERROR_INIT;
    add_product(g, DNN_F32);
    assert_int_equal(dnn_plan(g, true, &err), E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "its products are not float32"));
    end(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_planned),
        cmocka_unit_test(what_is_refused_is_named),
        cmocka_unit_test(products_of_float32_may_have_to_be_exact),
    };
    error err = ERROR_INIT;
    if (api_open(API_DNN, &err) != OK) {
        printf("SKIPPED: %s\n", err.text);
        return 77;
    }
    if (argc != 2 || fs_read(argv[1], DEVICE_BYTES_MOST, &device, &err) != OK) {
        fprintf(stderr, "usage: %s DEVICE.json\n", argv[0]);
        return 2;
    }
    real = api;
    api.cudnnCreate = create;
    api.cudnnSetStream = set_stream;
    api.cudnnBackendSetAttribute = set_attribute;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&device);
    return failed;
}
