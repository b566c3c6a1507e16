/* Which gradients are refused, with which words, and that the graph is then as before. */
#include "unit/graph/support_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void refused_gradients_are_listed_at_once(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_param(g, "x", TENSOR_TRAINABLE, DIMS(4, 3));
    graph_val weights = make_param(g, "classes", TENSOR_TRAINABLE, DIMS(3));
    graph_val label = make_input(g, "label", DT_I64, DIMS(4));
    graph_val weight = make_input(g, "weight", DT_F32, DIMS(1));
    graph_val h = make_node(g, OP_SUM_TO, "fold", IN(x), &(shape_attr){.shape = DIMS(1, 3)});
    h = make_node(g, OP_ADD, "spread", IN(h, x), NULL);
    graph_val loss =
        make_node(g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, "loss", IN(h, label, weights), NULL);
    loss = make_node(g, OP_MUL, "twice", IN(loss, loss), NULL);
    graph_val through = make_node(g, OP_SUM_TO, "last", IN(loss), NULL);
    graph_val total = make_node(g, OP_ADD, "total", IN(through, loss), NULL);
    int32_t n_nodes = graph_n_nodes(g), n_values = graph_n_values(g);
    error err = ERROR_INIT;
    assert_int_equal(graph_backward(g, total, weight, &err), E_UNSUPPORTED);
    assert_string_equal(err.text,
                        "no gradient for 2 nodes: last (SumTo): this operator has no gradient; "
                        "loss (SoftmaxCrossEntropyLoss): no gradient for trained class weights");
    assert_int_equal(graph_n_nodes(g), n_nodes);
    assert_int_equal(graph_n_values(g), n_values);
    assert_int_equal(graph_find(g, "total.Reshape"), GRAPH_NONE);
    assert_int_equal(graph_value_at(g, x)->grad, GRAPH_NONE);
    graph_destroy(&g);
}

static void statistics_have_no_gradient(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_param(g, "x", TENSOR_TRAINABLE, DIMS(8, 4));
    graph_val weight = make_input(g, "weight", DT_F32, DIMS(1));
    graph_val s = make_param(g, "s", TENSOR_TRAINABLE, DIMS(4));
    graph_val mean = make_param(g, "mean", TENSOR_STATE, DIMS(4));
    graph_val var = make_param(g, "var", TENSOR_TRAINABLE, DIMS(4));
    graph_val in[] = {x, s, s, mean, var};
    const batch_norm_attr training = {.training = true};
    error err = ERROR_INIT;
    graph_val y = make_node(g, OP_BATCH_NORMALIZATION, "bn2", in, 5, &training);
    graph_val loss = make_loss(g, y);
    assert_int_equal(graph_backward(g, loss, weight, &err), E_UNSUPPORTED);
    assert_string_equal(err.text,
                        "no gradient for 1 node: bn2 (BatchNormalization): no gradient for the "
                        "running mean and variance");
    graph_destroy(&g);
}

static void the_batch_statistics_pass_no_gradient(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val s = make_param(g, "s", TENSOR_TRAINABLE, DIMS(4)), out[3];
    graph_val x = make_param(g, "x", TENSOR_TRAINABLE, DIMS(8, 4));
    graph_val frozen = make_param(g, "frozen", TENSOR_FROZEN, DIMS(4));
    graph_val weight = make_input(g, "weight", DT_F32, DIMS(1));
    error err = ERROR_INIT;
    assert_int_equal(graph_add(g, OP_BATCH_NORMALIZATION, "bn",
                               (graph_val[]){x, s, s, frozen, frozen}, 5,
                               &(batch_norm_attr){.training = true}, out, &err),
                     OK);
    graph_val loss = make_loss(g, out[2]);
    assert_int_equal(graph_backward(g, loss, weight, &err), E_UNSUPPORTED);
    assert_string_equal(err.text, "no gradient for 1 node: bn (BatchNormalization): no gradient "
                                  "through the batch's mean and variance");
    graph_destroy(&g);
}

static void wrong_ends_are_refused(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val p = make_param(g, "p", TENSOR_TRAINABLE, DIMS(2));
    graph_val one = make_input(g, "one", DT_F32, DIMS(1));
    graph_val label = make_input(g, "label", DT_I64, DIMS(1));
    graph_val loss = make_loss(g, p);
    error err = ERROR_INIT;
    assert_int_equal(graph_backward(g, p, one, &err), E_CONFIG);
    assert_string_equal(err.text, "backward: the loss 'p' is float32 [2], must be one float32");
    error_clear(&err);
    assert_int_equal(graph_backward(g, loss, label, &err), E_CONFIG);
    assert_string_equal(err.text, "backward: the weight 'label' is int64 [1], must be one float32");
    error_clear(&err);
    assert_int_equal(graph_backward(g, 99, one, &err), E_CONFIG);
    assert_string_equal(err.text, "backward: the loss is not a value of this graph");
    error_clear(&err);
    assert_int_equal(graph_backward(g, loss, one, &err), OK);
    assert_int_equal(graph_backward(g, loss, one, &err), E_CONFIG);
    assert_string_equal(err.text, "backward: this graph has its gradients already");
    graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_gradients_are_listed_at_once),
        cmocka_unit_test(statistics_have_no_gradient),
        cmocka_unit_test(the_batch_statistics_pass_no_gradient),
        cmocka_unit_test(wrong_ends_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
