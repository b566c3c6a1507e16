/*
 * The graph of sharpness-aware minimization: what is computed twice, with which attributes, what is the first pass's
 * alone, what is refused. What it computes tests/golden holds against PyTorch.
 */
#include "unit/graph/support_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const graph_sam RHO = {.rho = 0.1f};

/* x -> frozen product -> moving product -> norm -> dropout -> loss; and a figure that the loss does not read */
typedef struct net {
    graph *g;
    graph_val base, w, scale, shift, mean, var, idle, loss, weight;
} net;

static net make_net(void)
{
    net n = {.g = make_graph()};
    graph *g = n.g;
    graph_val x = make_input(g, "x", DT_F32, DIMS(8, 5)), id = make_input(g, "batch.id", DT_I64, DIMS(1));
    n.base = make_param(g, "base", TENSOR_FROZEN, DIMS(5, 4));
    n.w = make_param(g, "w", TENSOR_TRAINABLE, DIMS(4, 3));
    n.scale = make_param(g, "scale", TENSOR_TRAINABLE, DIMS(3));
    n.shift = make_param(g, "shift", TENSOR_TRAINABLE, DIMS(3));
    n.mean = make_param(g, "mean", TENSOR_STATE, DIMS(3));
    n.var = make_param(g, "var", TENSOR_STATE, DIMS(3));
    n.idle = make_param(g, "idle", TENSOR_TRAINABLE, DIMS(2));
    graph_val h = make_node(g, OP_MATMUL, "frozen", IN(x, n.base), NULL);
    h = make_node(g, OP_MATMUL, "moving", IN(h, n.w), NULL);
    h = make_node(g, OP_BATCH_NORMALIZATION, "norm", IN(h, n.scale, n.shift, n.mean, n.var),
                  &(batch_norm_attr){.training = true, .epsilon = 1e-5f});
    h = make_node(g, OP_DROPOUT, "drop", IN(h, id), &(dropout_attr){.ratio = 0.5f, .seed = 3, .stream = 7});
    graph_keep(g, make_node(g, OP_REDUCE_MAX, "largest", IN(h), NULL));
    n.loss = make_loss(g, h);
    n.weight = make_input(g, "weight", DT_F32, DIMS(1));
    return n;
}

static void sharpen(net *n)
{
    error err = ERROR_INIT;
    if (graph_backward_sam(n->g, n->loss, n->weight, &RHO, &err) != OK)
        fail_msg("%s", err.text);
}

static const graph_node *node_of(const graph *g, const char *name)
{
    graph_val v = graph_find(g, name);
    assert_int_not_equal(v, GRAPH_NONE);
    return graph_node_at(g, graph_value_at(g, v)->def);
}

static void what_moves_is_computed_again_and_nothing_else(void **state)
{
    (void)state;
    net n = make_net();
    sharpen(&n);
    assert_int_equal(count_ops(n.g, OP_BATCH_NORMALIZATION), 2);
    assert_int_equal(count_ops(n.g, OP_DROPOUT), 2);
    assert_int_equal(count_ops(n.g, OP_REDUCE_MAX), 1);
    assert_int_equal(graph_find(n.g, "sam.frozen"), GRAPH_NONE);
    const graph_node *again = node_of(n.g, "sam.moving");
    assert_int_equal(again->in[0], graph_find(n.g, "frozen"));
    const graph_value *beside = graph_value_at(n.g, again->in[1]);
    assert_int_equal(beside->kind, VAL_TEMP);
    assert_ptr_equal(beside->param, graph_value_at(n.g, n.w)->param);
    graph_destroy(&n.g);
}

/* The gradient of a weight is made behind the second forward. */
static void gradients_are_those_of_the_second_pass(void **state)
{
    (void)state;
    net n = make_net();
    sharpen(&n);
    const graph_val moving[] = {n.w, n.scale, n.shift};
    int32_t last = graph_value_at(n.g, graph_find(n.g, "sam.loss"))->def;
    for (size_t i = 0; i < COUNT_OF(moving); i++)
        assert_true(graph_value_at(n.g, graph_value_at(n.g, moving[i])->grad)->def > last);
    assert_int_equal(graph_value_at(n.g, n.base)->grad, GRAPH_NONE);
    assert_int_equal(node_of(n.g, graph_value_at(n.g, graph_value_at(n.g, n.idle)->grad)->name)->op, OP_ZERO);
    assert_true(graph_value_at(n.g, n.loss)->keep);
    assert_false(graph_value_at(n.g, graph_find(n.g, "sam.loss"))->keep);
    graph_destroy(&n.g);
}

static void masks_are_the_same(void **state)
{
    (void)state;
    net n = make_net();
    sharpen(&n);
    const graph_node *first = node_of(n.g, "drop"), *again = node_of(n.g, "sam.drop");
    assert_memory_equal(first->attr, again->attr, sizeof(dropout_attr));
    assert_int_equal(first->in[1], again->in[1]);
    graph_destroy(&n.g);
}

/* Whether `node` leads to `v`. */
static bool leads(const graph *g, const char *node, graph_val v)
{
    const graph_value *value = graph_value_at(g, v);
    if (value->kind != VAL_TEMP)
        return false;
    const graph_node *n = graph_node_at(g, value->def);
    bool found = strcmp(n->name, node) == 0;
    for (int32_t k = 0; k < n->n_in && !found; k++)
        found = n->in[k] != GRAPH_NONE && leads(g, node, n->in[k]);
    return found;
}

static void statistics_are_those_of_the_first_pass(void **state)
{
    (void)state;
    net n = make_net();
    sharpen(&n);
    const graph_val states[] = {n.mean, n.var};
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        graph_val moved = graph_value_at(n.g, states[i])->grad;
        assert_true(leads(n.g, "norm", moved));
        assert_false(leads(n.g, "sam.norm", moved));
    }
    graph_destroy(&n.g);
}

static void without_weights_that_move_nothing_is_added(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(4)), p = make_param(g, "p", TENSOR_FROZEN, DIMS(4));
    graph_val loss = make_loss(g, make_node(g, OP_MUL, "y", IN(x, p), NULL));
    graph_val weight = make_input(g, "weight", DT_F32, DIMS(1));
    int32_t n_nodes = graph_n_nodes(g);
    assert_int_equal(graph_backward_sam(g, loss, weight, &RHO, NULL), OK);
    assert_int_equal(graph_n_nodes(g), n_nodes);
    graph_destroy(&g);
}

static void a_refusal_leaves_the_graph_as_it_was(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val p = make_param(g, "p", TENSOR_TRAINABLE, DIMS(4, 3));
    graph_val y = make_node(g, OP_SUM_TO, "fold", IN(p), &(shape_attr){.shape = DIMS(1, 3)});
    graph_val loss = make_loss(g, y), weight = make_input(g, "weight", DT_F32, DIMS(1));
    int32_t n_nodes = graph_n_nodes(g), n_values = graph_n_values(g);
    error err = ERROR_INIT;
    assert_int_equal(graph_backward_sam(g, loss, weight, &RHO, &err), E_UNSUPPORTED);
    assert_string_equal(err.text, "no gradient for 1 node: fold (SumTo): this operator has no gradient");
    assert_int_equal(graph_n_nodes(g), n_nodes);
    assert_int_equal(graph_n_values(g), n_values);
    graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_moves_is_computed_again_and_nothing_else),
        cmocka_unit_test(gradients_are_those_of_the_second_pass),
        cmocka_unit_test(masks_are_the_same),
        cmocka_unit_test(statistics_are_those_of_the_first_pass),
        cmocka_unit_test(without_weights_that_move_nothing_is_added),
        cmocka_unit_test(a_refusal_leaves_the_graph_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
