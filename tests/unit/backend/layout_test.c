/* Where values lie in oneDNN's order, where they are reordered, and what runs as one. */
#include "backend/cpu/program.h"
#include "support/window_attrs.h"
#include "unit/backend/support_program.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

/* conv1 relu1 pool1 conv2 bn2 relu2 add3 conv4 flatten gemm loss, and backward */
static void build_cnn(program *p, graph_val *ret_loss)
{
    graph_val x = program_input(p, "x", DT_F32, (graph_shape){4, {4, 3, 16, 16}});
    graph_val labels = program_input(p, "labels", DT_I64, (graph_shape){1, {4}});
    graph_val w1 = program_param(p, "w1", (graph_shape){4, {32, 3, 3, 3}});
    graph_val b1 = program_param(p, "b1", (graph_shape){1, {32}});
    graph_val w2 = program_param(p, "w2", (graph_shape){4, {32, 32, 3, 3}});
    graph_val w4 = program_param(p, "w4", (graph_shape){4, {32, 32, 3, 3}});
    graph_val scale = program_param(p, "scale", (graph_shape){1, {32}});
    graph_val shift = program_param(p, "shift", (graph_shape){1, {32}});
    graph_val mean = program_state(p, "mean", (graph_shape){1, {32}});
    graph_val var = program_state(p, "var", (graph_shape){1, {32}});
    graph_val wf = program_param(p, "wf", (graph_shape){2, {10, 2048}});
    graph_val bf = program_param(p, "bf", (graph_shape){1, {10}});
    conv_attr same = CONV_ATTR(.pads = {1, 1, 1, 1});
    pool_attr half = POOL_ATTR(.kernel = {2, 2}, .strides = {2, 2});
    batch_norm_attr norm = {.training = true};
    axis_attr from_1 = {.axis = 1};
    gemm_attr dense = {GEMM_UNSCALED, .trans_b = true};
    graph_val y = program_node(p, OP_CONV, "conv1", &same, 3, (graph_val[]){x, w1, b1}, NULL);
    y = program_node(p, OP_RELU, "relu1", NULL, 1, &y, NULL);
    graph_val pooled = program_node(p, OP_MAX_POOL, "pool1", &half, 1, &y, NULL);
    y = program_node(p, OP_CONV, "conv2", &same, 2, (graph_val[]){pooled, w2}, NULL);
    y = program_node(p, OP_BATCH_NORMALIZATION, "bn2", &norm, 5,
                     (graph_val[]){y, scale, shift, mean, var}, NULL);
    y = program_node(p, OP_RELU, "relu2", NULL, 1, &y, NULL);
    y = program_node(p, OP_ADD, "add3", NULL, 2, (graph_val[]){y, pooled}, NULL);
    y = program_node(p, OP_CONV, "conv4", &same, 2, (graph_val[]){y, w4}, NULL);
    y = program_node(p, OP_FLATTEN, "flatten", &from_1, 1, &y, NULL);
    y = program_node(p, OP_GEMM, "dense", &dense, 3, (graph_val[]){y, wf, bf}, NULL);
    *ret_loss = program_node(p, OP_SOFTMAX_CROSS_ENTROPY_LOSS, "loss", NULL, 2,
                             (graph_val[]){y, labels}, NULL);
    graph_keep(p->g, *ret_loss);
}

/* Inputs and outputs of the node that are reordered at every run: around its kernel, or because an
 * alias operator met a blocked input. */
static int reorders_of(const backend_program *p, int32_t node)
{
    const cpu_node *n = &p->nodes[node];
    bool is_alias = graph_op_of(n->node->op)->traits & OP_ALIAS;
    int count = is_alias && !n->aliases;
    for (int i = 0; i < n->node->n_in; i++)
        count += n->in[i].reorder != NULL;
    for (int i = 0; i < n->node->n_out; i++)
        count += n->out[i].reorder != NULL;
    return count;
}

/* The node's work is done by the node that makes its input. */
static bool is_fused(const program *p, const char *node)
{
    return p->loaded->nodes[program_node_named(p, node)].fused;
}

/* The value lies in an order of oneDNN's own. */
static bool is_blocked(const backend_program *p, graph_val v)
{
    return p->layout[v] && !shim_layout_is_plain(p->layout[v]);
}

static graph_val output_of(const program *p, const char *node)
{
    return graph_node_at(p->g, program_node_named(p, node))->out[0];
}

static void test_values_between_convolutions_stay_blocked(void **state)
{
    (void)state;
    program p;
    graph_val loss;
    program_init(&p);
    build_cnn(&p, &loss);
    graph_val weight = program_input(&p, "weight", DT_F32, (graph_shape){.rank = 0});
    assert_int_equal(graph_backward(p.g, loss, weight, &p.err), OK);
    program_load(&p, 1);
    static const char *const blocked[] = {"conv1", "relu1", "pool1", "conv2",
                                          "bn2",   "relu2", "add3",  "conv4"};
    for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++)
        assert_true(is_blocked(p.loaded, output_of(&p, blocked[i])));
    assert_false(is_blocked(p.loaded, output_of(&p, "flatten")));
    assert_false(is_blocked(p.loaded, loss));
    program_fini(&p);
}

/* Reorders a node may have: a convolution's weights and its gradient of them; x at the first one;
 * whatever meets plain rows from the dense end. */
static int reorders_allowed(const program *p, const graph_node *n)
{
    switch (n->op) {
    case OP_CONV:
        return strcmp(n->name, "conv1") == 0 ? 2 : 1;
    case OP_CONV_BWD_DATA:
        return 1;
    case OP_CONV_BWD_WEIGHTS:
        return n->in[0] == graph_find(p->g, "x") ? 2 : 1;
    case OP_FLATTEN:
        return 1;
    default:
        return 0;
    }
}

static void test_reorders_stand_at_the_edges_only(void **state)
{
    (void)state;
#ifndef __x86_64__
    skip(); /* Arm's kernels want one order forward and another one backward */
#endif
    program p;
    graph_val loss;
    program_init(&p);
    build_cnn(&p, &loss);
    graph_val weight = program_input(&p, "weight", DT_F32, (graph_shape){.rank = 0});
    assert_int_equal(graph_backward(p.g, loss, weight, &p.err), OK);
    program_load(&p, 1);
    int at_dense_end = 0;
    for (int32_t i = 0; i < graph_n_nodes(p.g); i++) {
        const graph_node *n = graph_node_at(p.g, i);
        int beyond = reorders_of(p.loaded, i) - reorders_allowed(&p, n);
        if (beyond <= 0)
            continue;
        /* dy comes plain out of the dense layer: each reader of it straightens it once */
        bool reads_plain_dy = n->op == OP_CONV_BWD_DATA || n->op == OP_CONV_BWD_WEIGHTS;
        if (!reads_plain_dy || beyond > 1)
            fail_msg("%s: %d reorders", n->name, reorders_of(p.loaded, i));
        at_dense_end++;
    }
    assert_true(at_dense_end <= 2);
    program_fini(&p);
}

static void test_gradients_of_parameters_and_kept_values_are_plain(void **state)
{
    (void)state;
    program p;
    graph_val loss;
    program_init(&p);
    build_cnn(&p, &loss);
    graph_keep(p.g, output_of(&p, "pool1"));
    graph_val weight = program_input(&p, "weight", DT_F32, (graph_shape){.rank = 0});
    assert_int_equal(graph_backward(p.g, loss, weight, &p.err), OK);
    program_load(&p, 1);
    assert_false(is_blocked(p.loaded, output_of(&p, "pool1")));
    for (graph_val v = 0; v < graph_n_values(p.g); v++) {
        const graph_value *value = graph_value_at(p.g, v);
        if (value->kind != VAL_PARAM)
            continue;
        assert_false(is_blocked(p.loaded, v));
        assert_false(is_blocked(p.loaded, value->grad));
        assert_int_equal(backend_cpu.value_bytes(p.loaded, value->grad),
                         graph_shape_elements(&value->shape) * 4);
    }
    program_fini(&p);
}

static void test_flatten_shares_memory_of_plain_values_only(void **state)
{
    (void)state;
    program p;
    program_init(&p);
    graph_val x = program_input(&p, "x", DT_F32, (graph_shape){4, {2, 16, 8, 8}});
    graph_val w = program_param(&p, "w", (graph_shape){4, {16, 16, 1, 1}});
    axis_attr from_1 = {.axis = 1};
    program_node(&p, OP_FLATTEN, "of_input", &from_1, 1, &x, NULL);
    graph_val y = program_node(&p, OP_CONV, "conv", NULL, 2, (graph_val[]){x, w}, NULL);
    program_node(&p, OP_FLATTEN, "of_conv", &from_1, 1, &y, NULL);
    graph_val mean = program_node(&p, OP_GLOBAL_AVERAGE_POOL, "mean", NULL, 1, &y, NULL);
    program_node(&p, OP_FLATTEN, "of_mean", &from_1, 1, &mean, NULL);
    program_load(&p, 1);
    assert_true(backend_cpu.can_alias(p.loaded, program_node_named(&p, "of_input")));
    assert_false(backend_cpu.can_alias(p.loaded, program_node_named(&p, "of_conv")));
    assert_int_equal(reorders_of(p.loaded, program_node_named(&p, "of_conv")), 1);
    /* one element per channel: blocks of channels are rows */
    assert_true(backend_cpu.can_alias(p.loaded, program_node_named(&p, "of_mean")));
    program_fini(&p);
}

/* 5 channels in blocks of 8 or 16: the value takes more bytes than it has elements. */
static void test_padded_channels_do_not_leak(void **state)
{
    (void)state;
    program p;
    program_init(&p);
    graph_val x = program_input(&p, "x", DT_F32, (graph_shape){4, {1, 8, 4, 4}});
    graph_val w = program_param(&p, "w", (graph_shape){4, {5, 8, 1, 1}});
    graph_val y = program_node(&p, OP_CONV, "conv", NULL, 2, (graph_val[]){x, w}, NULL);
    y = program_node(&p, OP_SIGMOID, "sigmoid", NULL, 1, &y, NULL); /* of 0 is not 0 */
    y = program_node(&p, OP_GLOBAL_AVERAGE_POOL, "mean", NULL, 1, &y, NULL);
    graph_keep(p.g, y);
    program_load(&p, 1);
    program_fill_sources(&p);
    memset(program_floats(&p, w), 0, 5 * 8 * sizeof(float));
    program_run(&p);
    for (int i = 0; i < 5; i++)
        assert_true(program_floats(&p, y)[i] == 0.5f);
    program_fini(&p);
}

static void test_relu_is_fused_where_nobody_else_looks(void **state)
{
    (void)state;
    program p;
    program_init(&p);
    graph_val x = program_input(&p, "x", DT_F32, (graph_shape){2, {4, 8}});
    graph_val w = program_param(&p, "w", (graph_shape){2, {8, 8}});
    graph_val a = program_node(&p, OP_GEMM, "alone", NULL, 2, (graph_val[]){x, w}, NULL);
    graph_val b = program_node(&p, OP_GEMM, "watched", NULL, 2, (graph_val[]){x, w}, NULL);
    graph_val c = program_node(&p, OP_GEMM, "kept", NULL, 2, (graph_val[]){x, w}, NULL);
    graph_val d = program_node(&p, OP_ADD, "sum", NULL, 2, (graph_val[]){x, x}, NULL);
    graph_keep(p.g, c);
    graph_val y = program_node(&p, OP_RELU, "relu_alone", NULL, 1, &a, NULL);
    program_node(&p, OP_RELU, "relu_watched", NULL, 1, &b, NULL);
    program_node(&p, OP_TANH, "watcher", NULL, 1, &b, NULL);
    program_node(&p, OP_RELU, "relu_kept", NULL, 1, &c, NULL);
    program_node(&p, OP_RELU, "relu_sum", NULL, 1, &d, NULL);
    program_load(&p, 1);
    assert_true(is_fused(&p, "relu_alone"));
    assert_true(backend_cpu.can_run_inplace(p.loaded, program_node_named(&p, "relu_alone")));
    assert_false(is_fused(&p, "relu_watched"));
    assert_false(is_fused(&p, "relu_kept"));
    assert_false(is_fused(&p, "relu_sum"));
    /* with memory of its own the fused Relu still has its value */
    program_fill_sources(&p);
    program_run(&p);
    for (int i = 0; i < 32; i++) {
        float before = program_floats(&p, b)[i];
        assert_true(program_floats(&p, y)[i] == (before > 0.0f ? before : 0.0f));
    }
    program_fini(&p);
}

/* A NaN must reach the loss, or nobody learns that the run has gone wrong. */
static void test_relu_lets_nan_through(void **state)
{
    (void)state;
    program p;
    program_init(&p);
    graph_val x = program_input(&p, "x", DT_F32, (graph_shape){4, {1, 16, 4, 4}});
    graph_val w = program_param(&p, "w", (graph_shape){4, {16, 16, 1, 1}});
    graph_val m = program_input(&p, "m", DT_F32, (graph_shape){2, {2, 4}});
    graph_val v = program_param(&p, "v", (graph_shape){2, {4, 4}});
    graph_val c = program_node(&p, OP_CONV, "conv", NULL, 2, (graph_val[]){x, w}, NULL);
    c = program_node(&p, OP_RELU, "relu_conv", NULL, 1, &c, NULL);
    graph_val g = program_node(&p, OP_GEMM, "gemm", NULL, 2, (graph_val[]){m, v}, NULL);
    g = program_node(&p, OP_RELU, "relu_gemm", NULL, 1, &g, NULL);
    graph_keep(p.g, c);
    graph_keep(p.g, g);
    program_load(&p, 1);
    program_fill_sources(&p);
    program_floats(&p, x)[0] = program_floats(&p, m)[0] = NAN;
    program_run(&p);
    assert_true(isnan(program_floats(&p, c)[0]) && !isnan(program_floats(&p, c)[1]));
    assert_true(isnan(program_floats(&p, g)[0]) && !isnan(program_floats(&p, g)[4]));
    program_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_between_convolutions_stay_blocked),
        cmocka_unit_test(test_reorders_stand_at_the_edges_only),
        cmocka_unit_test(test_gradients_of_parameters_and_kept_values_are_plain),
        cmocka_unit_test(test_flatten_shares_memory_of_plain_values_only),
        cmocka_unit_test(test_padded_channels_do_not_leak),
        cmocka_unit_test(test_relu_is_fused_where_nobody_else_looks),
        cmocka_unit_test(test_relu_lets_nan_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
