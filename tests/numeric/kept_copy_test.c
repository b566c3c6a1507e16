/*
 * A copy of a network's scores that is kept to be read, made in front of backward as models make it for the metrics of
 * training: loss and every gradient have the same bits as without, in every precision, and the copy is what the loss
 * saw.
 */
#include "common/base/rng.h"
#include "graph/attrs.h"
#include "graph/precision.h"
#include "numeric/support_lane.h"
#include "numeric/support_tested.h"
#include "support/window_attrs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 6, CLASSES = 5, WIDTH = 24, SIDE = 6, CHANNELS = 8 };

static graph_val param(graph *g, const char *name, graph_shape s)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    tensor_decl decl = {.name = name, .rank = s.rank};
    memcpy(decl.dim, s.dim, sizeof decl.dim);
    must(graph_param(g, &decl, &v, &err), &err);
    return v;
}

static graph_val add(graph *g, graph_op op, const char *name, graph_val a, graph_val b, graph_val c, const void *attr)
{
    error err = ERROR_INIT;
    graph_val out[3] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    const graph_val in[] = {a, b, c};
    int32_t n = c != GRAPH_NONE ? 3 : b != GRAPH_NONE ? 2 : 1;
    must(graph_add(g, op, name, in, n, attr, out, &err), &err);
    return out[0];
}

static graph_val input(graph *g, const char *name, dtype type, graph_shape s)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    must(graph_input(g, name, type, s, &v, &err), &err);
    return v;
}

/* Scores of rows, [batch, classes]. */
static graph_val perceptron(graph *g)
{
    const gemm_attr linear = {GEMM_UNSCALED, .trans_b = true};
    graph_val h = input(g, "x", DT_F32, (graph_shape){2, {BATCH, WIDTH}});
    h = add(g, OP_LAYER_NORMALIZATION, NULL, h, param(g, "n", (graph_shape){1, {WIDTH}}),
            param(g, "m", (graph_shape){1, {WIDTH}}), &(row_norm_attr){.axis = -1});
    h = add(g, OP_GEMM, NULL, h, param(g, "w", (graph_shape){2, {WIDTH, WIDTH}}),
            param(g, "b", (graph_shape){1, {WIDTH}}), &linear);
    h = add(g, OP_GELU, NULL, h, GRAPH_NONE, GRAPH_NONE, &(gelu_attr){.tanh = true});
    return add(g, OP_GEMM, "scores", h, param(g, "v", (graph_shape){2, {CLASSES, WIDTH}}),
               param(g, "a", (graph_shape){1, {CLASSES}}), &linear);
}

/* Scores of pixels, [batch, classes, height, width]. */
static graph_val convolutions(graph *g)
{
    graph_val h = input(g, "x", DT_F32, (graph_shape){4, {BATCH, 3, SIDE, SIDE}});
    h = add(g, OP_CONV, NULL, h, param(g, "w", (graph_shape){4, {CHANNELS, 3, 3, 3}}),
            param(g, "b", (graph_shape){1, {CHANNELS}}), &CONV_ATTR(.pads = {1, 1, 1, 1}));
    h = add(g, OP_RELU, NULL, h, GRAPH_NONE, GRAPH_NONE, NULL);
    return add(g, OP_CONV, "scores", h, param(g, "v", (graph_shape){4, {CLASSES, CHANNELS, 1, 1}}),
               param(g, "a", (graph_shape){1, {CLASSES}}), &CONV_ATTR(.pads = {0}));
}

static graph *build(graph_val (*network)(graph *g), graph_precision precision, bool keeps)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val weight;
    must(graph_create(&g, &err), &err);
    graph_val scores = network(g);
    graph_shape s = graph_value_at(g, scores)->shape;
    graph_shape labels = {.rank = s.rank - 1, .dim = {s.dim[0], s.dim[2], s.dim[3]}};
    graph_val label = input(g, "label", DT_I64, labels);
    graph_val loss = add(g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, "loss", scores, label, GRAPH_NONE,
                         &(sce_attr){.reduction = SCE_MEAN});
    graph_keep(g, loss);
    if (keeps)
        graph_keep(g, add(g, OP_IDENTITY, "copy", scores, GRAPH_NONE, GRAPH_NONE, NULL));
    must(graph_set_precision(g, precision, &err), &err);
    must(graph_input(g, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err), &err);
    must(graph_backward(g, loss, weight, &err), &err);
    return g;
}

static void fill(const graph *g, lane *l)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_PARAM && value->kind != VAL_INPUT)
            continue;
        int64_t n = graph_shape_elements(&value->shape);
        double *x = xcalloc((size_t)n, sizeof *x);
        rng numbers = rng_make(2, RNG_TEST, (uint64_t)value->name[0]);
        for (int64_t i = 0; i < n; i++)
            x[i] = strcmp(value->name, "weight") == 0  ? 1.0
                   : strcmp(value->name, "label") == 0 ? (double)rng_below(&numbers, (uint64_t)i, CLASSES)
                                                       : (double)rng_normal(&numbers, (uint64_t)i) * 0.5;
        lane_set(l, 0, value->name, x);
        free(x);
    }
}

/* The mean loss that these scores make, of labels as fill has them. */
static double loss_of(const graph *g, lane *l)
{
    const graph_value *value = graph_value_at(g, graph_find(g, "copy"));
    int64_t n = graph_shape_elements(&value->shape), inner = n / (BATCH * CLASSES);
    rng numbers = rng_make(2, RNG_TEST, (uint64_t)'l');
    double *s = xcalloc((size_t)n, sizeof *s), sum = 0;
    lane_get(l, 0, "copy", s);
    for (int64_t i = 0; i < BATCH * inner; i++) {
        const double *at = s + i / inner * CLASSES * inner + i % inner;
        double all = 0;
        for (int64_t c = 0; c < CLASSES; c++)
            all += exp(at[c * inner]);
        sum += log(all) - at[(int64_t)rng_below(&numbers, (uint64_t)i, CLASSES) * inner];
    }
    free(s);
    return sum / (double)(BATCH * inner);
}

static void check(graph_val (*network)(graph *g), graph_precision precision)
{
    if (!tested_multiplies(precision))
        return;
    graph *g[2];
    lane l[2];
    double loss[2];
    for (int keeps = 0; keeps < 2; keeps++) {
        g[keeps] = build(network, precision, keeps);
        lane_init(&l[keeps], (const graph *const *)&g[keeps], 1, 2);
        fill(g[keeps], &l[keeps]);
        lane_run(&l[keeps], 0, NULL);
        lane_get(&l[keeps], 0, "loss", &loss[keeps]);
    }
    assert_true(loss[0] == loss[1]);
    assert_true(fabs(loss_of(g[1], &l[1]) - loss[1]) <= 1e-5);
    size_t bytes = (size_t)l[0].layout->n_elements * sizeof(float);
    assert_memory_equal(exec_grad(l[0].exec), exec_grad(l[1].exec), bytes);
    for (int keeps = 0; keeps < 2; keeps++) {
        lane_fini(&l[keeps]);
        graph_destroy(&g[keeps]);
    }
}

static void test_a_copy_changes_no_bit(void **state)
{
    (void)state;
    const graph_precision all[] = {PRECISION_F32, PRECISION_TF32, PRECISION_BF16, PRECISION_F16};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        check(perceptron, all[i]);
        check(convolutions, all[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_copy_changes_no_bit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
