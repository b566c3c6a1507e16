/*
 * Gradients where op_gradient_test does not go: where pieces of a function meet, at infinities, of
 * what is no number, and where nothing flows back. What is expected is what PyTorch 2.15 gives, but
 * for rows of NaN through which nothing flows: there it has NaN, and zeros are right.
 */
#include "graph/attrs.h"
#include "numeric/support_gradient.h"
#include "numeric/support_lane.h"
#include "numeric/support_tested.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_IN = 2, MOST = 12, WIDTH = 3 };

#define INF       __builtin_inff()
#define NONE      __builtin_nanf("")
#define ATTR(t, ...) &(const t){__VA_ARGS__}
#define OVER_ROWS ATTR(reduce_attr, .axes = {1}, .n_axes = 1)

/* Operands are parameters; those of Where have its condition before them. In rows they are
 * [n / WIDTH,WIDTH], else [n]. */
typedef struct row {
    const char *name;
    graph_op op;
    const void *attr;
    int n_in, n;
    bool in_rows, is_reduced; /* reduced: dy has one number a row */
    float x[MOST_IN][MOST], dy[MOST], want[MOST_IN][MOST];
} row;

static const row rows[] = {
    {"Abs", OP_ABS, NULL, 1, 6, .x = {{-INF, INF, 0, NONE, -INF, NONE}}, .dy = {1, 1, 1, 1, 0, 0},
     .want = {{-1, 1, 0, 0, 0, 0}}},
    {"Relu", OP_RELU, NULL, 1, 6, .x = {{-INF, 0, INF, NONE, INF, NONE}}, .dy = {1, 1, 1, 1, 0, 0},
     .want = {{0, 0, 1, 1, 0, 0}}},
    {"Clip", OP_CLIP, ATTR(unary_attr, -1, 1), 1, 6, .x = {{-INF, -1, 0.5f, 1, INF, NONE}},
     .dy = {1, 1, 1, 1, 1, 1}, .want = {{0, 0, 1, 0, 0, 0}}},
    {"Elu", OP_ELU, ATTR(unary_attr, 1, 0), 1, 6, .x = {{-INF, 0, INF, NONE, INF, NONE}},
     .dy = {1, 1, 1, 1, 0, 0}, .want = {{0, 1, 1, 1, 0, 0}}},
    {"Selu", OP_SELU, ATTR(unary_attr, 2, 3), 1, 5, .x = {{-INF, 0, INF, NONE, NONE}},
     .dy = {1, 1, 1, 1, 0}, .want = {{0, 6, 3, 3, 0}}},
    {"Celu", OP_CELU, ATTR(unary_attr, 1, 0), 1, 5, .x = {{-INF, 0, INF, NONE, NONE}},
     .dy = {1, 1, 1, 1, 0}, .want = {{0, 1, 1, 1, 0}}},
    {"HardSwish", OP_HARD_SWISH, NULL, 1, 7, .x = {{-INF, -3, 0, 3, INF, NONE, NONE}},
     .dy = {1, 1, 1, 1, 1, 1, 0}, .want = {{0, 0, 0.5f, 1, 1, 1, 0}}},
    {"HardSigmoid", OP_HARD_SIGMOID, ATTR(unary_attr, 0.5f, 0.5f), 1, 5,
     .x = {{-INF, -1, 0, 1, INF}}, .dy = {1, 1, 1, 1, 1}, .want = {{0, 0, 0.5f, 0, 0}}},
    {"ThresholdedRelu", OP_THRESHOLDED_RELU, ATTR(unary_attr, 1, 0), 1, 5,
     .x = {{-INF, 1, INF, NONE, NONE}}, .dy = {1, 1, 1, 1, 0}, .want = {{0, 0, 1, 1, 0}}},
    {"Shrink", OP_SHRINK, ATTR(unary_attr, 0.5f, 0.5f), 1, 6, .x = {{-INF, -0.5f, 0.5f, 1, NONE, NONE}},
     .dy = {1, 1, 1, 1, 1, 0}, .want = {{1, 0, 0, 1, 1, 0}}},
    {"Sqrt", OP_SQRT, NULL, 1, 4, .x = {{0, 4, INF, 0}}, .dy = {1, 1, 1, 0},
     .want = {{INF, 0.25f, 0, NONE}}},
    {"Max", OP_MAX, NULL, 2, 6, .x = {{1, NONE, 2, INF, -INF, NONE}, {1, 1, NONE, INF, 0, 1}},
     .dy = {1, 1, 1, 1, 1, 0}, .want = {{0.5f, 1, 1, 0.5f, 0, 0}, {0.5f, 1, 1, 0.5f, 1, 0}}},
    {"Min", OP_MIN, NULL, 2, 6, .x = {{1, NONE, 2, INF, -INF, NONE}, {1, 1, NONE, INF, 0, 1}},
     .dy = {1, 1, 1, 1, 1, 0}, .want = {{0.5f, 1, 1, 0.5f, 1, 0}, {0.5f, 1, 1, 0.5f, 0, 0}}},
    {"Pow", OP_POW, NULL, 2, 6, .x = {{0, 0, 0, -2, -INF, INF}, {2, 0, -1, 2, 0.5f, 0}},
     .dy = {1, 1, 1, 1, 1, 1}, .want = {{0, 0, -INF, -4, 0, 0}, {0, 0, -INF, NONE, NONE, INF}}},
    {"Where", OP_WHERE, NULL, 2, 6, .x = {{NONE, INF, 1, 1, 1, 1}, {1, 1, NONE, INF, 1, 1}},
     .dy = {1, 1, 1, 1, INF, NONE}, .want = {{1, 0, 1, 0, INF, 0}, {0, 1, 0, 1, 0, NONE}}},
    {"Softmax", OP_SOFTMAX, ATTR(axis_attr, 1), 1, 12, .in_rows = true,
     .x = {{-INF, -INF, -INF, -INF, 0, 0, NONE, 1, 2, INF, 0, 1}},
     .dy = {0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0}, .want = {{0, 0, 0, 0, 0.25f, -0.25f}}},
    {"LogSoftmax", OP_LOG_SOFTMAX, ATTR(axis_attr, 1), 1, 9, .in_rows = true,
     .x = {{-INF, -INF, -INF, -INF, 0, 0, NONE, 1, 2}}, .dy = {0, 0, 0, 0, 1, 0, 0, 0, 0},
     .want = {{0, 0, 0, 0, 0.5f, -0.5f}}},
    {"Softmax of columns", OP_SOFTMAX, ATTR(axis_attr, 0), 1, 6, .in_rows = true,
     .x = {{-INF, NONE, 0, -INF, 1, 0}}, .dy = {0, 0, 1, 0, 0, 0},
     .want = {{0, 0, 0.25f, 0, 0, -0.25f}}},
    {"LogSoftmax of columns", OP_LOG_SOFTMAX, ATTR(axis_attr, 0), 1, 6, .in_rows = true,
     .x = {{-INF, NONE, 0, -INF, 1, 0}}, .dy = {0, 0, 1, 0, 0, 0},
     .want = {{0, 0, 0.5f, 0, 0, -0.5f}}},
    {"ReduceMax", OP_REDUCE_MAX, OVER_ROWS, 1, 12, .in_rows = true, .is_reduced = true,
     .x = {{-INF, -INF, 0, INF, 1, 2, -INF, -INF, -INF, NONE, 1, 2}}, .dy = {1, 1, 3, 0},
     .want = {{0, 0, 1, 1, 0, 0, 1, 1, 1}}},
    {"ReduceMin", OP_REDUCE_MIN, OVER_ROWS, 1, 12, .in_rows = true, .is_reduced = true,
     .x = {{INF, INF, 0, -INF, 1, 2, INF, INF, INF, NONE, 1, 2}}, .dy = {1, 1, 3, 0},
     .want = {{0, 0, 1, 1, 0, 0, 1, 1, 1}}},
    {"ReduceProd", OP_REDUCE_PROD, OVER_ROWS, 1, 12, .in_rows = true, .is_reduced = true,
     .x = {{INF, 1, 2, NONE, 1, 2, -INF, -INF, -INF, -INF, 0, 1}}, .dy = {1, 1, 1, 1},
     .want = {{2, INF, INF, 2, NONE, NONE, INF, INF, INF, 0, -INF, NONE}}},
    {"ReduceL1", OP_REDUCE_L1, OVER_ROWS, 1, 6, .in_rows = true, .is_reduced = true,
     .x = {{NONE, -INF, 1, 0, NONE, INF}}, .dy = {1, 0}, .want = {{0, -1, 1, 0, 0, 0}}},
    {"ReduceL2", OP_REDUCE_L2, OVER_ROWS, 1, 6, .in_rows = true, .is_reduced = true,
     .x = {{0, 0, 0, 0, 3, 4}}, .dy = {1, 1}, .want = {{0, 0, 0, 0, 0.6f, 0.8f}}},
    {"ReduceLogSum", OP_REDUCE_LOG_SUM, OVER_ROWS, 1, 6, .in_rows = true, .is_reduced = true,
     .x = {{-1, -2, -1, -INF, 0, 1}}, .dy = {1, 1}, .want = {{-0.25f, -0.25f, -0.25f}}},
};

static const char *const names[MOST_IN] = {"x0", "x1"};

static graph *build(const row *r)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val in[1 + MOST_IN], y;
    int at = 0;
    graph_shape shape = {1, {r->n}};
    if (r->in_rows)
        shape = (graph_shape){2, {r->n / WIDTH, WIDTH}};
    must(graph_create(&g, &err), &err);
    if (r->op == OP_WHERE) /* every other one is chosen */
        must(graph_const(g, "chosen", DT_BOOL, shape, (const bool[MOST]){1, 0, 1, 0, 1, 0}, &in[at++],
                         &err),
             &err);
    for (int k = 0; k < r->n_in; k++) {
        tensor_decl decl = {.name = names[k], .rank = shape.rank};
        memcpy(decl.dim, shape.dim, sizeof shape.dim);
        must(graph_param(g, &decl, &in[at++], &err), &err);
    }
    must(graph_add_1(g, r->op, NULL, in, at, r->attr, &y, &err), &err);
    gradient_append(g, gradient_loss(g, y, r->dy));
    return g;
}

static bool is_alike(float got, float want)
{
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want;
    return fabsf(got - want) <= 1e-6f;
}

static bool compare(const row *r, const lane *l)
{
    bool alike = true;
    for (int k = 0; k < r->n_in; k++)
        for (int i = 0; i < r->n; i++) {
            float got = lane_grad(l, names[k])[i];
            if (is_alike(got, r->want[k][i]))
                continue;
            print_error("%s: gradient of operand %d at [%d], %g, is %g, not %g\n", r->name, k, i,
                        (double)r->x[k][i], (double)got, (double)r->want[k][i]);
            alike = false;
        }
    return alike;
}

static bool check_row(const row *r)
{
    graph *g = build(r);
    bool alike = true;
    if (tested_takes(g)) {
        lane l;
        double x[MOST];
        lane_init(&l, (const graph *const *)&g, 1, 1);
        for (int k = 0; k < r->n_in; k++) {
            for (int i = 0; i < r->n; i++)
                x[i] = (double)r->x[k][i];
            lane_set(&l, 0, names[k], x);
        }
        lane_set(&l, 0, "weight", &(double){1});
        lane_run(&l, 0, NULL);
        alike = compare(r, &l);
        lane_fini(&l);
    }
    graph_destroy(&g);
    return alike;
}

static void gradients_are_those_of_pytorch(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        wrong += !check_row(&rows[i]);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_those_of_pytorch)};
    return tested_run(tests, sizeof tests / sizeof *tests);
}
