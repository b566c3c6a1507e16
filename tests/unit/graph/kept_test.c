/*
 * What backward keeps of forward: a function that is quick to make again is made again for the
 * product that reads it, and Relu's gradient shares the rounded copy with the product behind.
 */
#include "graph/precision.h"

#include "unit/graph/support_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The index of the last node that reads v. */
static int32_t last_reader(const graph *g, graph_val v)
{
    int32_t last = GRAPH_NONE;
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        for (int32_t k = 0; k < graph_node_at(g, i)->n_in; k++)
            if (graph_node_at(g, i)->in[k] == v)
                last = i;
    return last;
}

/* x w1 -> function -> w2, and the loss of that. */
static graph *two_products(graph_op function, graph_op product, tensor_kind first,
                           graph_val *ret_between)
{
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(2, 3));
    graph_val w1 = make_param(g, "w1", first, DIMS(3, 4));
    graph_val w2 = make_param(g, "w2", TENSOR_TRAINABLE, DIMS(4, 5));
    graph_val hidden = make_node(g, OP_GEMM, "first", IN(x, w1), &(gemm_attr){GEMM_UNSCALED});
    *ret_between = make_node(g, function, "between", IN(hidden), NULL);
    gemm_attr attr = {GEMM_UNSCALED};
    graph_val y = make_node(g, product, "second", IN(*ret_between, w2),
                            product == OP_GEMM ? (const void *)&attr : &(matmul_attr){0});
    make_loss(g, y);
    return g;
}

static void a_function_that_keeps_its_input_is_made_again(void **state)
{
    (void)state;
    static const graph_op products[] = {OP_GEMM, OP_MATMUL};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        graph_val between;
        graph *g = two_products(OP_GELU, products[i], TENSOR_TRAINABLE, &between);
        int32_t n_forward = graph_n_nodes(g);
        make_backward(g, graph_find(g, "loss"));
        assert_int_equal(count_ops(g, OP_GELU), 2);
        assert_true(last_reader(g, between) < n_forward);
        graph_destroy(&g);
    }
}

/* A Sigmoid's gradient reads what it made; a Gelu below which nothing is trained has no gradient,
 * so its input would be kept for this alone. */
static void what_is_kept_anyway_is_read(void **state)
{
    (void)state;
    graph_val between;
    graph *g = two_products(OP_SIGMOID, OP_GEMM, TENSOR_TRAINABLE, &between);
    make_backward(g, graph_find(g, "loss"));
    assert_int_equal(count_ops(g, OP_SIGMOID), 1);
    graph_destroy(&g);
    g = two_products(OP_GELU, OP_GEMM, TENSOR_FROZEN, &between);
    make_backward(g, graph_find(g, "loss"));
    assert_int_equal(count_ops(g, OP_GELU), 1);
    graph_destroy(&g);
}

static void rounded_copies_are_kept_instead(void **state)
{
    (void)state;
    static const graph_op functions[] = {OP_RELU, OP_GELU};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        error err = ERROR_INIT;
        graph_val between;
        graph *g = two_products(functions[i], OP_GEMM, TENSOR_TRAINABLE, &between);
        assert_int_equal(graph_set_precision(g, PRECISION_BF16, &err), OK);
        int32_t n_forward = graph_n_nodes(g);
        make_backward(g, graph_find(g, "loss"));
        assert_int_equal(count_ops(g, functions[i]), 1);
        assert_true(last_reader(g, between) < n_forward);
        graph_destroy(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_that_keeps_its_input_is_made_again),
        cmocka_unit_test(what_is_kept_anyway_is_read),
        cmocka_unit_test(rounded_copies_are_kept_instead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
