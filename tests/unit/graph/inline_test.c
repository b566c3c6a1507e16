/* A graph within another one: its inputs are the values that are given, its parameters constants, its names behind the
 * prefix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/inline.h"

#include <string.h>

static const float weights[] = {1, 2, 3, 4, 5, 6}, shift[] = {7, 8};

/* relu(x w + shift), with w a parameter */
static graph *inner(graph_val *ret_x, graph_val *ret_w, graph_val *ret_out)
{
    graph *g = NULL;
    graph_val c, product, sum;
    const tensor_decl w = {.name = "w", .rank = 2, .dim = {3, 2}, .kind = TENSOR_TRAINABLE};
    assert_int_equal(graph_create(&g, NULL), OK);
    assert_int_equal(graph_input(g, "x", DT_F32, (graph_shape){2, {4, 3}}, ret_x, NULL), OK);
    assert_int_equal(graph_param(g, &w, ret_w, NULL), OK);
    assert_int_equal(graph_const(g, "shift", DT_F32, (graph_shape){1, {2}}, shift, &c, NULL), OK);
    assert_int_equal(graph_add_1(g, OP_MATMUL, "product", (graph_val[]){*ret_x, *ret_w}, 2, NULL, &product, NULL), OK);
    assert_int_equal(graph_add_1(g, OP_ADD, "sum", (graph_val[]){product, c}, 2, NULL, &sum, NULL), OK);
    assert_int_equal(graph_add_1(g, OP_RELU, "out", &sum, 1, NULL, ret_out, NULL), OK);
    return g;
}

static void test_a_graph_becomes_part_of_another(void **state)
{
    (void)state;
    graph_val x, w, out, mine;
    graph *from = inner(&x, &w, &out), *g = NULL;
    graph_val inputs[8] = {0}, values[8];
    const float *params[8] = {NULL};
    error err = ERROR_INIT;
    assert_in_range(graph_n_values(from), 1, 8);
    assert_int_equal(graph_create(&g, NULL), OK);
    assert_int_equal(graph_input(g, "x", DT_F32, (graph_shape){2, {4, 3}}, &mine, NULL), OK);
    inputs[x] = mine;
    params[w] = weights;
    const graph_inlined what = {from, "teacher.", inputs, params};
    assert_int_equal(graph_inline(g, &what, values, &err), OK);

    assert_int_equal(graph_n_params(g), 0);
    assert_int_equal(graph_n_nodes(g), graph_n_nodes(from));
    assert_int_equal(values[x], mine);
    assert_int_equal(values[out], graph_find(g, "teacher.out"));
    const graph_value *is = graph_value_at(g, values[w]);
    assert_int_equal(is->kind, VAL_CONST);
    assert_string_equal(is->name, "teacher.w");
    assert_ptr_not_equal(is->data, weights);
    assert_memory_equal(is->data, weights, sizeof weights);
    assert_memory_equal(graph_value_at(g, graph_find(g, "teacher.shift"))->data, shift, sizeof shift);

    assert_int_equal(graph_inline(g, &what, values, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "'teacher.w': the name is taken already"));
    graph_destroy(&from);
    assert_memory_equal(graph_value_at(g, graph_find(g, "teacher.w"))->data, weights, sizeof weights);
    graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_graph_becomes_part_of_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
