/* Whether the cuDNN that is installed plans a graph, and what is told where it does not. */
#include "support_dnn.h"

#include "common/base/alloc.h"

#include <string.h>

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
    scene s;
    error err = ERROR_INIT;
    scene_begin(&s);
    dnn_graph *g = dnn_begin(&s.program);
    add_product(g, DNN_BF16);
    if (dnn_plan(g, false, &err) != OK)
        fail_msg("%s", err.text);
    scene_end(&s);
}

static void what_is_refused_is_named(void **state)
{
    (void)state;
    scene s;
    error err = ERROR_INIT;
    scene_begin(&s);
    dnn_graph *g = dnn_begin(&s.program);
    assert_null(
        dnn_make(g, DNN_MATMUL, DNN_ATTRIBUTES({DNN_MATMUL_TYPE, DNN_IS_INT64, 1, &(int64_t){0}})));
    add_product(g, DNN_BF16);
    assert_int_equal(dnn_plan(g, false, &err), E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "CUDNN_BACKEND_MATMUL_DESCRIPTOR: cuDNN, "
                                     "CUDNN_ATTR_MATMUL_COMP_TYPE: CUDNN_STATUS_BAD_PARAM"));
    scene_end(&s);
}

static void products_of_float32_may_have_to_be_exact(void **state)
{
    (void)state;
    scene s;
    error err = ERROR_INIT;
    scene_begin(&s);
    dnn_graph *g = dnn_begin(&s.program);
    add_product(g, DNN_F32);
    assert_int_equal(dnn_plan(g, true, &err), E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "its products are not float32"));
    scene_end(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_planned),
        cmocka_unit_test(what_is_refused_is_named),
        cmocka_unit_test(products_of_float32_may_have_to_be_exact),
    };
    return dnn_tests_run(argc, argv, tests, COUNT_OF(tests));
}
