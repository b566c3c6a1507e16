/* What graph_backward appends: its structure, who owns which gradient, what it refuses. */
#include "graph/graph.h"
#include "graph/plan.h"
#include "graph/print.h"

#include "support/window_attrs.h"
#include "unit/graph/support_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const graph_node *maker_of_grad(const graph *g, graph_val param)
{
    graph_val grad = graph_value_at(g, param)->grad;
    assert_int_not_equal(grad, GRAPH_NONE);
    return graph_node_at(g, graph_value_at(g, grad)->def);
}

/* The operators from `first` on, as "Mul Gemm ...". */
static void assert_ops(const graph *g, int32_t first, const char *expected)
{
    buf text = BUF_INIT;
    for (int32_t i = first; i < graph_n_nodes(g); i++)
        buf_addf(&text, "%s%s", i > first ? " " : "", graph_op_of(graph_node_at(g, i)->op)->name);
    assert_string_equal(text.data ? text.data : "", expected);
    buf_fini(&text);
}

/* Defined once and before use, by the node it names; every appended node is read or owned. */
static void assert_valid(const graph *g)
{
    int32_t n_values = graph_n_values(g);
    bool *read = xcalloc((size_t)n_values, sizeof *read);
    int32_t *owners = xcalloc((size_t)n_values, sizeof *owners);
    for (graph_val v = 0; v < n_values; v++) {
        const graph_value *value = graph_value_at(g, v);
        assert_int_equal(graph_find(g, value->name), v);
        assert_int_equal(value->kind == VAL_TEMP, value->def != GRAPH_NONE);
        if (value->kind == VAL_PARAM && value->grad != GRAPH_NONE) {
            const graph_value *grad = graph_value_at(g, value->grad);
            assert_true(graph_shape_equal(&grad->shape, &value->shape));
            assert_int_equal(grad->kind, VAL_TEMP);
            assert_int_equal(owners[value->grad]++, 0);
            read[value->grad] = true;
        }
        if (value->kind == VAL_PARAM && value->param->kind == TENSOR_FROZEN)
            assert_int_equal(value->grad, GRAPH_NONE);
    }
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        const graph_node *n = graph_node_at(g, i);
        for (int32_t k = 0; k < n->n_in; k++) {
            if (n->in[k] == GRAPH_NONE)
                continue;
            assert_in_range(n->in[k], 0, n_values - 1);
            assert_true(graph_value_at(g, n->in[k])->def < i);
            read[n->in[k]] = true;
        }
        for (int32_t k = 0; k < n->n_out; k++)
            assert_true(n->out[k] == GRAPH_NONE || graph_value_at(g, n->out[k])->def == i);
    }
    int32_t first = graph_value_at(g, graph_find(g, "loss"))->def + 1;
    for (int32_t i = first; i < graph_n_nodes(g); i++) {
        const graph_node *n = graph_node_at(g, i);
        for (int32_t k = 0; k < n->n_out; k++)
            assert_true(n->out[k] == GRAPH_NONE || read[n->out[k]]);
    }
    free(read);
    free(owners);
}

static graph_val cross_entropy(graph *g, graph_val scores, int64_t batch)
{
    graph_val label = make_input(g, "label", DT_I64, DIMS(batch));
    graph_val loss = make_node(g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, "loss", IN(scores, label), NULL);
    graph_keep(g, loss);
    return loss;
}

static void a_perceptron_makes_no_gradient_for_its_input(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(8, 20));
    graph_val w1 = make_param(g, "fc1.weight", TENSOR_TRAINABLE, DIMS(16, 20));
    graph_val b1 = make_param(g, "fc1.bias", TENSOR_TRAINABLE, DIMS(16));
    graph_val w2 = make_param(g, "fc2.weight", TENSOR_TRAINABLE, DIMS(10, 16));
    graph_val b2 = make_param(g, "fc2.bias", TENSOR_TRAINABLE, DIMS(10));
    const gemm_attr nt = {GEMM_UNSCALED, .trans_b = true};
    graph_val h = make_node(g, OP_GEMM, "fc1", IN(x, w1, b1), &nt);
    h = make_node(g, OP_RELU, "relu", IN(h), NULL);
    h = make_node(g, OP_GEMM, "fc2", IN(h, w2, b2), &nt);
    make_backward(g, cross_entropy(g, h, 8));
    assert_valid(g);
    assert_ops(g, 4, "Reshape SoftmaxCrossEntropyLossBwd Gemm SumTo Gemm ReluBwd Gemm SumTo");
    const graph_node *dw = maker_of_grad(g, w1);
    assert_int_equal(dw->op, OP_GEMM);
    assert_true(((const gemm_attr *)dw->attr)->trans_a);
    assert_false(((const gemm_attr *)dw->attr)->trans_b);
    graph_val order[4];
    graph_param_order(g, order);
    assert_int_equal(order[0], w2);
    assert_int_equal(order[1], b2);
    assert_int_equal(order[2], w1);
    assert_int_equal(order[3], b1);
    graph_destroy(&g);
}

static void each_weight_of_a_gemm_gets_one_gemm(void **state)
{
    (void)state;
    for (int flags = 0; flags < 4; flags++) {
        gemm_attr attr = {.trans_a = flags & 1, .trans_b = flags & 2, .alpha = 0.5f, .beta = 3};
        graph *g = make_graph();
        graph_val a = make_param(g, "a", TENSOR_TRAINABLE, flags & 1 ? DIMS(3, 2) : DIMS(2, 3));
        graph_val b = make_param(g, "b", TENSOR_TRAINABLE, flags & 2 ? DIMS(4, 3) : DIMS(3, 4));
        graph_val c = make_param(g, "c", TENSOR_TRAINABLE, DIMS(2, 1));
        graph_val y = make_node(g, OP_GEMM, "y", IN(a, b, c), &attr);
        make_backward(g, make_loss(g, y));
        assert_valid(g);
        assert_int_equal(count_ops(g, OP_GEMM), 3);
        assert_int_equal(maker_of_grad(g, a)->op, OP_GEMM);
        assert_int_equal(maker_of_grad(g, b)->op, OP_GEMM);
        assert_true(((const gemm_attr *)maker_of_grad(g, b)->attr)->alpha == 0.5f);
        assert_int_equal(maker_of_grad(g, c)->op, OP_MUL);
        graph_destroy(&g);
    }
}

static void a_small_cnn_is_library_shaped(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(8, 1, 12, 12));
    graph_val w1 = make_param(g, "conv1.weight", TENSOR_TRAINABLE, DIMS(4, 1, 3, 3));
    graph_val b1 = make_param(g, "conv1.bias", TENSOR_TRAINABLE, DIMS(4));
    graph_val w2 = make_param(g, "conv2.weight", TENSOR_FROZEN, DIMS(6, 4, 3, 3));
    graph_val b2 = make_param(g, "conv2.bias", TENSOR_TRAINABLE, DIMS(6));
    graph_val h = make_node(g, OP_CONV, "conv1", IN(x, w1, b1), NULL);
    h = make_node(g, OP_RELU, "relu", IN(h), NULL);
    h = make_node(g, OP_MAX_POOL, "pool", IN(h), &POOL_ATTR(.kernel = {2, 2}, .strides = {2, 2}));
    h = make_node(g, OP_CONV, "conv2", IN(h, w2, b2), NULL);
    h = make_node(g, OP_GLOBAL_AVERAGE_POOL, "mean", IN(h), NULL);
    h = make_node(g, OP_FLATTEN, "flat", IN(h), &(axis_attr){1});
    make_backward(g, cross_entropy(g, h, 8));
    assert_valid(g);
    assert_ops(g, 7,
               "Reshape SoftmaxCrossEntropyLossBwd Reshape AveragePoolBwd ReduceSum "
               "ConvBwdData MaxPoolBwd ReluBwd ConvBwdWeights");
    assert_int_equal(graph_value_at(g, w2)->grad, GRAPH_NONE);
    const graph_node *dw = maker_of_grad(g, w1);
    assert_int_equal(dw->out[0], graph_value_at(g, w1)->grad);
    assert_int_equal(dw->out[1], graph_value_at(g, b1)->grad);
    assert_int_equal(maker_of_grad(g, b2)->op, OP_REDUCE_SUM);
    graph_destroy(&g);
}

static void state_takes_the_batch_value_times_the_weight(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(8, 4, 3, 3));
    graph_val in[] = {x, make_param(g, "scale", TENSOR_TRAINABLE, DIMS(4)),
                      make_param(g, "bias", TENSOR_TRAINABLE, DIMS(4)),
                      make_param(g, "mean", TENSOR_STATE, DIMS(4)),
                      make_param(g, "var", TENSOR_STATE, DIMS(4))};
    graph_val alone = make_param(g, "alone", TENSOR_STATE, DIMS(2));
    graph_val y =
        make_node(g, OP_BATCH_NORMALIZATION, "bn", in, 5, &(batch_norm_attr){.training = true});
    make_backward(g, make_loss(g, y));
    assert_valid(g);
    const graph_node *bn = graph_node_at(g, 0);
    graph_val scalar = graph_find(g, "loss.Reshape");
    for (int i = 0; i < 2; i++) {
        const graph_node *own = maker_of_grad(g, in[3 + i]);
        assert_int_equal(own->op, OP_MUL);
        assert_int_equal(own->in[0], bn->out[1 + i]);
        assert_int_equal(own->in[1], scalar);
    }
    assert_int_equal(maker_of_grad(g, alone)->op, OP_MUL);
    assert_int_equal(maker_of_grad(g, alone)->in[0], alone);
    const graph_node *bwd = maker_of_grad(g, in[1]);
    assert_int_equal(bwd->op, OP_BATCH_NORMALIZATION_BWD);
    assert_int_equal(bwd->in[2], bn->out[1]);
    assert_int_equal(bwd->out[0], GRAPH_NONE); /* nobody asked for the data's gradient */
    assert_int_equal(bwd->out[2], graph_value_at(g, in[2])->grad);
    graph_destroy(&g);
}

/* Of two calls the earlier one counts less, by the share of the old state that stays, and the step
 * makes one move of them. */
static void calls_of_a_layer_share_its_state(void **state)
{
    (void)state;
    graph *g = make_graph();
    tensor_decl decl = {.name = "mean", .rank = 1, .dim = {4}, .kind = TENSOR_STATE, .momentum = 0.8f};
    graph_val x = make_input(g, "x", DT_F32, DIMS(8, 4)), mean, out[2][3];
    assert_int_equal(graph_param(g, &decl, &mean, NULL), OK);
    graph_val in[] = {x, make_param(g, "scale", TENSOR_FROZEN, DIMS(4)),
                      make_param(g, "bias", TENSOR_FROZEN, DIMS(4)), mean,
                      make_param(g, "var", TENSOR_FROZEN, DIMS(4))};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(graph_add(g, OP_BATCH_NORMALIZATION, i ? "second" : "first", in, 5,
                                   &(batch_norm_attr){.training = true}, out[i], NULL),
                         OK);
        in[0] = out[i][0];
    }
    make_backward(g, make_loss(g, in[0]));
    assert_valid(g);
    assert_float_equal(graph_value_at(g, mean)->param->momentum, 0.64f, 1e-7f);
    const graph_node *sum = maker_of_grad(g, mean);
    assert_int_equal(sum->op, OP_MUL);
    sum = graph_node_at(g, graph_value_at(g, sum->in[0])->def);
    assert_int_equal(sum->op, OP_ADD);
    for (int i = 0; i < 2; i++) { /* (1 - r) r / (1 - r^2) = 4/9 of the first, 5/9 of the second */
        const graph_node *share = graph_node_at(g, graph_value_at(g, sum->in[i])->def);
        assert_int_equal(share->in[0], out[i][1]);
        assert_float_equal(*(const float *)graph_value_at(g, share->in[1])->data,
                           (4.0f + (float)i) / 9.0f, 1e-6f);
    }
    graph_destroy(&g);
}

static void state_moves_even_where_no_gradient_flows(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(8, 4));
    graph_val in[] = {x, make_param(g, "scale", TENSOR_FROZEN, DIMS(4)),
                      make_param(g, "bias", TENSOR_FROZEN, DIMS(4)),
                      make_param(g, "mean", TENSOR_STATE, DIMS(4)),
                      make_param(g, "var", TENSOR_STATE, DIMS(4))};
    graph_val y =
        make_node(g, OP_BATCH_NORMALIZATION, "bn", in, 5, &(batch_norm_attr){.training = true});
    make_backward(g, make_loss(g, y));
    assert_valid(g);
    assert_ops(g, 2, "Reshape Mul Mul");
    graph_destroy(&g);
}

static void evaluation_statistics_are_read_from_the_parameters(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val in[] = {make_param(g, "x", TENSOR_TRAINABLE, DIMS(8, 4)),
                      make_param(g, "scale", TENSOR_TRAINABLE, DIMS(4)),
                      make_param(g, "bias", TENSOR_TRAINABLE, DIMS(4)),
                      make_param(g, "mean", TENSOR_STATE, DIMS(4)),
                      make_param(g, "var", TENSOR_STATE, DIMS(4))};
    graph_val y = make_node(g, OP_BATCH_NORMALIZATION, "bn", in, 5, NULL);
    make_backward(g, make_loss(g, y));
    assert_valid(g);
    const graph_node *bwd = maker_of_grad(g, in[0]);
    assert_int_equal(bwd->op, OP_BATCH_NORMALIZATION_BWD);
    assert_int_equal(bwd->in[2], in[3]);
    assert_int_equal(bwd->in[3], in[4]);
    assert_int_equal(maker_of_grad(g, in[3])->in[0], in[3]);
    graph_destroy(&g);
}

static void a_tied_parameter_sums_over_its_readers(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(8, 6));
    graph_val w = make_param(g, "w", TENSOR_TRAINABLE, DIMS(6, 6));
    graph_val h = make_node(g, OP_GEMM, "fc1", IN(x, w), NULL);
    h = make_node(g, OP_GEMM, "fc2", IN(h, w), &(gemm_attr){GEMM_UNSCALED, .trans_b = true});
    make_backward(g, make_loss(g, h));
    assert_valid(g);
    const graph_node *sum = maker_of_grad(g, w);
    assert_int_equal(sum->op, OP_ADD);
    for (int i = 0; i < 2; i++)
        assert_int_equal(graph_node_at(g, graph_value_at(g, sum->in[i])->def)->op, OP_GEMM);
    assert_int_equal(graph_value_at(g, graph_value_at(g, w)->grad)->def, graph_n_nodes(g) - 1);
    graph_destroy(&g);
}

static void a_value_read_twice_sums_both_ways(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val p = make_param(g, "p", TENSOR_TRAINABLE, DIMS(3));
    graph_val y = make_node(g, OP_MUL, "square", IN(p, p), NULL);
    make_backward(g, make_loss(g, y));
    assert_valid(g);
    assert_int_equal(maker_of_grad(g, p)->op, OP_ADD);
    graph_destroy(&g);
}

static void an_unused_parameter_gets_zeros(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val p = make_param(g, "p", TENSOR_TRAINABLE, DIMS(3));
    graph_val unread = make_param(g, "unread", TENSOR_TRAINABLE, DIMS(2, 5));
    graph_val beside = make_param(g, "beside", TENSOR_TRAINABLE, DIMS(3));
    graph_val frozen = make_param(g, "frozen", TENSOR_FROZEN, DIMS(3));
    make_node(g, OP_RELU, "nowhere", IN(beside), NULL);
    graph_val y = make_node(g, OP_MUL, "y", IN(p, frozen), NULL);
    make_backward(g, make_loss(g, y));
    assert_valid(g);
    assert_int_equal(maker_of_grad(g, unread)->op, OP_ZERO);
    assert_int_equal(maker_of_grad(g, beside)->op, OP_ZERO);
    assert_int_equal(maker_of_grad(g, p)->op, OP_MUL);
    assert_int_equal(graph_value_at(g, frozen)->grad, GRAPH_NONE);
    assert_int_equal(graph_value_at(g, graph_find(g, "nowhere"))->def, 0);
    graph_destroy(&g);
}

static void a_shared_gradient_is_copied(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val p = make_param(g, "p", TENSOR_TRAINABLE, DIMS(3));
    graph_val q = make_param(g, "q", TENSOR_TRAINABLE, DIMS(3));
    graph_val y = make_node(g, OP_ADD, "y", IN(p, q), NULL);
    make_backward(g, make_loss(g, y));
    assert_valid(g);
    assert_int_equal(maker_of_grad(g, p)->op, OP_EXPAND);
    assert_int_equal(maker_of_grad(g, q)->op, OP_IDENTITY);
    graph_destroy(&g);
}

static void a_view_is_no_gradient_of_its_own(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val p = make_param(g, "p", TENSOR_TRAINABLE, DIMS(3, 4));
    graph_val y = make_node(g, OP_FLATTEN, "y", IN(p), &(axis_attr){0});
    y = make_node(g, OP_RELU, "relu", IN(y), NULL);
    make_backward(g, make_loss(g, y));
    assert_valid(g);
    assert_int_equal(maker_of_grad(g, p)->op, OP_IDENTITY);
    graph_destroy(&g);

    g = make_graph(); /* here the gradient is the weight itself */
    p = make_param(g, "p", TENSOR_TRAINABLE, DIMS(1));
    y = make_node(g, OP_IDENTITY, "loss", IN(p), NULL);
    make_backward(g, y);
    assert_valid(g);
    assert_int_equal(maker_of_grad(g, p)->op, OP_IDENTITY);
    graph_destroy(&g);

    g = make_graph(); /* and here not even reshaped */
    p = make_param(g, "p", TENSOR_TRAINABLE, SCALAR);
    y = make_node(g, OP_IDENTITY, "loss", IN(p), NULL);
    error err = ERROR_INIT;
    graph_val weight = make_input(g, "weight", DT_F32, SCALAR);
    assert_int_equal(graph_backward(g, y, weight, &err), OK);
    assert_valid(g);
    assert_int_equal(maker_of_grad(g, p)->op, OP_IDENTITY);
    assert_int_equal(maker_of_grad(g, p)->in[0], weight);
    graph_destroy(&g);
}

/* Each row: an operator over two trained matrices, and what its gradient is made of. */
static void gradients_are_made_of_known_operators(void **state)
{
    (void)state;
    const struct {
        graph_op op;
        graph_shape a, b; /* rank -1: one input */
        const void *attr;
        const char *ops;
    } rows[] = {
        {OP_ADD, DIMS(2, 3), DIMS(3), NULL, "SumTo"},
        {OP_SUB, DIMS(2, 3), DIMS(2, 3), NULL, "Mul"},
        {OP_SUB, DIMS(2, 3), DIMS(3), NULL, "SumTo Mul"},
        {OP_MUL, DIMS(2, 3), DIMS(2, 1), NULL, "Mul Mul SumTo"},
        {OP_DIV, DIMS(2, 3), DIMS(3), NULL, "Div Mul SumTo Mul"},
        {OP_MATMUL, DIMS(2, 3), DIMS(3, 4), NULL, "MatMul MatMul"},
        {OP_MATMUL, DIMS(5, 2, 3), DIMS(3, 4), NULL, "Reshape Reshape Gemm MatMul"},
        {OP_MATMUL, DIMS(5, 2, 3), DIMS(4, 3), &(matmul_attr){.trans_b = true},
         "Reshape Reshape Gemm MatMul"},
        {OP_MATMUL, DIMS(5, 3, 2), DIMS(3, 4), &(matmul_attr){.trans_a = true},
         "MatMul SumTo MatMul"},
        {OP_MATMUL, DIMS(5, 1, 2, 3), DIMS(6, 3, 4), NULL, "MatMul SumTo MatMul SumTo"},
        {OP_MATMUL, DIMS(3), DIMS(3, 4), NULL, "Reshape Reshape MatMul MatMul Reshape Identity"},
        {OP_CONCAT, DIMS(2, 3), DIMS(4, 3), &(axis_attr){0}, "Slice Slice"},
        {OP_SLICE,
         DIMS(5, 3),
         {-1, {0}},
         &(slice_attr){.n_axes = 1, .axes = {0}, .begin = {1}, .end = {3}, .step = {1}},
         "SliceBwd"},
        {OP_SLICE,
         DIMS(5, 3),
         {-1, {0}},
         &(slice_attr){.n_axes = 1, .axes = {0}, .end = {3}, .step = {1}},
         "SliceBwd"},
        {OP_SLICE,
         DIMS(5, 3),
         {-1, {0}},
         &(slice_attr){.n_axes = 1, .axes = {1}, .end = {3}, .step = {1}},
         ""},
        {OP_EXPAND, DIMS(3), {-1, {0}}, &(shape_attr){.shape = DIMS(2, 3)}, "SumTo"},
        {OP_TRANSPOSE, DIMS(2, 3, 4), {-1, {0}}, &(transpose_attr){.perm = {1, 2, 0}}, "Transpose"},
        {OP_REDUCE_SUM, DIMS(2, 3), {-1, {0}}, &(reduce_attr){.axes = {1}, .n_axes = 1}, "Expand"},
        {OP_REDUCE_MEAN,
         DIMS(2, 3),
         {-1, {0}},
         &(reduce_attr){.axes = {1}, .n_axes = 1, .drop_dims = true},
         "Reshape Mul Expand"},
        {OP_SIGMOID, DIMS(2, 3), {-1, {0}}, NULL, "SigmoidBwd"},
        {OP_TANH, DIMS(2, 3), {-1, {0}}, NULL, "TanhBwd"},
        {OP_GELU, DIMS(2, 3), {-1, {0}}, &(gelu_attr){.tanh = true}, "GeluBwd"},
        {OP_SOFTMAX, DIMS(2, 3), {-1, {0}}, &(axis_attr){-1}, "SoftmaxBwd"},
        {OP_LOG_SOFTMAX, DIMS(2, 3), {-1, {0}}, &(axis_attr){-1}, "LogSoftmaxBwd"},
        {OP_AVERAGE_POOL, DIMS(2, 3, 8), {-1, {0}}, &POOL_ATTR(.kernel = {2}), "AveragePoolBwd"},
        {OP_MAX_POOL, DIMS(2, 3, 8), {-1, {0}}, &POOL_ATTR(.kernel = {2}), "MaxPoolBwd"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        graph *g = make_graph();
        graph_val in[2] = {make_param(g, "a", TENSOR_TRAINABLE, rows[i].a)};
        if (rows[i].b.rank >= 0)
            in[1] = make_param(g, "b", TENSOR_TRAINABLE, rows[i].b);
        graph_val y = make_node(g, rows[i].op, "y", in, rows[i].b.rank >= 0 ? 2 : 1, rows[i].attr);
        /* the labels of a sum make dy a value that nobody owns yet */
        graph_val z = make_input(g, "z", DT_F32, graph_value_at(g, y)->shape);
        y = make_node(g, OP_MUL, "times", IN(y, z), NULL);
        make_backward(g, make_loss(g, y));
        assert_valid(g);
        int32_t first = 0;
        while (strcmp(graph_node_at(g, first)->name, "times.Mul") != 0)
            first++;
        assert_ops(g, first + 1, rows[i].ops);
        graph_destroy(&g);
    }
}

static void pieces_of_one_value_are_put_onto_each_other(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val p = make_param(g, "p", TENSOR_TRAINABLE, DIMS(5, 3));
    const slice_attr upper = {.n_axes = 1, .end = {3}, .step = {1}},
                     lower = {.n_axes = 1, .begin = {2}, .end = {5}, .step = {1}};
    graph_val a = make_node(g, OP_SLICE, "upper", IN(p), &upper);
    graph_val b = make_node(g, OP_SLICE, "lower", IN(p), &lower);
    make_backward(g, make_loss(g, make_node(g, OP_MUL, "times", IN(a, b), NULL)));
    assert_valid(g);
    assert_int_equal(count_ops(g, OP_ADD), 0);
    const graph_node *last = maker_of_grad(g, p);
    assert_int_equal(last->op, OP_SLICE_BWD);
    assert_int_equal(last->n_in, 2);
    const graph_node *first = graph_node_at(g, graph_value_at(g, last->in[1])->def);
    assert_int_equal(first->op, OP_SLICE_BWD);
    assert_int_equal(first->n_in, 1);
    assert_int_equal(graph_node_inplace(last), 1);
    assert_int_equal(graph_node_inplace(first), GRAPH_NONE);
    graph_destroy(&g);
}

static void the_gradient_of_a_loss_reads_the_scores_again(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val p = make_param(g, "p", TENSOR_TRAINABLE, DIMS(4, 3)), out[3];
    graph_val label = make_input(g, "label", DT_I32, DIMS(4));
    error err = ERROR_INIT;
    graph_val scores = make_node(g, OP_EXP, "scores", IN(p), NULL);
    assert_int_equal(graph_add(g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, "loss",
                               (graph_val[]){scores, label}, 2, NULL, out, &err),
                     OK);
    make_backward(g, out[0]);
    assert_valid(g);
    const graph_node *bwd = graph_node_at(g, graph_n_nodes(g) - 2);
    assert_int_equal(bwd->op, OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD);
    assert_int_equal(bwd->in[0], scores);
    assert_int_equal(bwd->in[3], out[1]);
    assert_int_equal(bwd->in[4], out[2]);
    assert_int_equal(bwd->in[5], GRAPH_NONE);
    graph_destroy(&g);
}

static void random_graphs_stay_valid_and_come_out_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        graph *g = random_graph(seed, 3 + (int32_t)(seed % 60), 4, true);
        graph *again = random_graph(seed, 3 + (int32_t)(seed % 60), 4, true);
        buf text = BUF_INIT, text_again = BUF_INIT;
        assert_valid(g);
        graph_print(g, &text);
        graph_print(again, &text_again);
        assert_string_equal(text.data, text_again.data);
        graph_val *order = xcalloc((size_t)graph_n_params(g), sizeof *order);
        graph_param_order(g, order);
        for (int32_t i = 0, ready = -1; i < graph_n_params(g); i++) {
            const graph_value *v = graph_value_at(g, order[i]);
            int32_t def = v->grad == GRAPH_NONE ? INT32_MAX : graph_value_at(g, v->grad)->def;
            assert_true(def >= ready);
            assert_int_equal(def == INT32_MAX, v->param->kind == TENSOR_FROZEN);
            ready = def;
        }
        free(order);
        buf_fini(&text);
        buf_fini(&text_again);
        graph_destroy(&g);
        graph_destroy(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perceptron_makes_no_gradient_for_its_input),
        cmocka_unit_test(each_weight_of_a_gemm_gets_one_gemm),
        cmocka_unit_test(a_small_cnn_is_library_shaped),
        cmocka_unit_test(state_takes_the_batch_value_times_the_weight),
        cmocka_unit_test(calls_of_a_layer_share_its_state),
        cmocka_unit_test(state_moves_even_where_no_gradient_flows),
        cmocka_unit_test(evaluation_statistics_are_read_from_the_parameters),
        cmocka_unit_test(a_tied_parameter_sums_over_its_readers),
        cmocka_unit_test(a_value_read_twice_sums_both_ways),
        cmocka_unit_test(an_unused_parameter_gets_zeros),
        cmocka_unit_test(a_shared_gradient_is_copied),
        cmocka_unit_test(a_view_is_no_gradient_of_its_own),
        cmocka_unit_test(gradients_are_made_of_known_operators),
        cmocka_unit_test(pieces_of_one_value_are_put_onto_each_other),
        cmocka_unit_test(the_gradient_of_a_loss_reads_the_scores_again),
        cmocka_unit_test(random_graphs_stay_valid_and_come_out_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
