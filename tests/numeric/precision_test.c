/*
 * Products in every precision: a small transformer, once as it is and once with its precision set.
 *
 *   rounding    every factor is rounded once, where it is first needed, and what the products then
 *               make of it is what the double reference makes of rounded factors, to 1e-5
 *   parity      loss and every gradient are those of float32 within what rounding factors to 8 or 11
 *               bits can do: 2 % or 0.25 % of the tensor's size
 */
#include "common/base/rng.h"
#include "graph/attrs.h"
#include "graph/precision.h"
#include "numeric/support_compare.h"
#include "numeric/support_lane.h"
#include "numeric/support_reference.h"
#include "numeric/support_tested.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct precision_case {
    graph_precision precision;
    int32_t roundings;
    double rtol; /* of a gradient */
} precision_case;

/* norm, qkv.weight, qkv, attention, proj.weight, sum (for two), up, gate, both, down.weight */
static const precision_case tf32 = {PRECISION_TF32, 0, 0.0025}, bf16 = {PRECISION_BF16, 10, 0.02},
                            f16 = {PRECISION_F16, 10, 0.0025};

enum { BATCH = 2, LENGTH = 70, WIDTH = 24, HEADS = 3, INNER = 50 };

static graph_val param(graph *g, const char *name, int64_t rows, int64_t columns)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    tensor_decl decl = {.name = name, .rank = columns ? 2 : 1, .dim = {rows, columns}};
    must(graph_param(g, &decl, &v, &err), &err);
    return v;
}

static graph_val add(graph *g, graph_op op, const char *name, graph_val a, graph_val b, graph_val c,
                     const void *attr)
{
    error err = ERROR_INIT;
    graph_val y = GRAPH_NONE;
    const graph_val in[] = {a, b, c};
    int32_t n = c != GRAPH_NONE ? 3 : b != GRAPH_NONE ? 2 : 1;
    must(graph_add_1(g, op, name, in, n, attr, &y, &err), &err);
    return y;
}

static graph_val reshape(graph *g, graph_val x, graph_shape shape)
{
    return add(g, OP_RESHAPE, NULL, x, GRAPH_NONE, GRAPH_NONE, &(shape_attr){.shape = shape});
}

/* x + proj(attention(qkv(norm(x)))), then a perceptron of the same x twice, then a mean. */
static graph *build(graph_precision precision, graph_val *ret_loss)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val x = GRAPH_NONE;
    const gemm_attr linear = {GEMM_UNSCALED, .trans_b = true};
    graph_shape rows = {2, {BATCH * LENGTH, WIDTH}};
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "x", DT_F32, rows, &x, &err), &err);
    graph_val h = add(g, OP_LAYER_NORMALIZATION, "norm", x, param(g, "norm.weight", WIDTH, 0),
                      param(g, "norm.bias", WIDTH, 0), &(row_norm_attr){.axis = -1});
    h = add(g, OP_GEMM, "qkv", h, param(g, "qkv.weight", 3 * WIDTH, WIDTH),
            param(g, "qkv.bias", 3 * WIDTH, 0), &linear);
    h = reshape(g, h, (graph_shape){3, {BATCH, LENGTH, 3 * WIDTH}});
    h = add(g, OP_ATTENTION, "attention", h, GRAPH_NONE, GRAPH_NONE,
            &(attention_attr){.q_heads = HEADS, .causal = true});
    h = add(g, OP_MATMUL, "proj", h, param(g, "proj.weight", WIDTH, WIDTH), GRAPH_NONE, NULL);
    h = add(g, OP_ADD, "sum", reshape(g, h, rows), x, GRAPH_NONE, NULL);
    graph_val up =
        add(g, OP_GEMM, "up", h, param(g, "up.weight", INNER, WIDTH), GRAPH_NONE, &linear);
    graph_val gate =
        add(g, OP_GEMM, "gate", h, param(g, "gate.weight", INNER, WIDTH), GRAPH_NONE, &linear);
    graph_val both = add(g, OP_MUL, "both", up, gate, GRAPH_NONE, NULL);
    graph_val down =
        add(g, OP_GEMM, "down", both, param(g, "down.weight", WIDTH, INNER), GRAPH_NONE, &linear);
    graph_val square = add(g, OP_MUL, "square", down, down, GRAPH_NONE, NULL);
    graph_val loss = add(g, OP_REDUCE_MEAN, "loss", square, GRAPH_NONE, GRAPH_NONE,
                         &(reduce_attr){.drop_dims = true});
    graph_keep(g, loss);
    graph_keep(g, up);
    must(graph_set_precision(g, precision, &err), &err);
    *ret_loss = loss;
    return g;
}

static void fill(const graph *g, lane *l, reference *r)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        bool is_param = value->kind == VAL_PARAM;
        if (!is_param && strcmp(value->name, "x") != 0)
            continue;
        int64_t n = graph_shape_elements(&value->shape);
        double *x = xcalloc((size_t)n, sizeof *x);
        rng numbers = rng_make(1, RNG_TEST, (uint64_t)value->name[0] + (uint64_t)n);
        for (int64_t i = 0; i < n; i++)
            x[i] = (double)(rng_normal(&numbers, (uint64_t)i) * (is_param ? 0.3f : 1.0f));
        lane_set(l, 0, value->name, x);
        if (r)
            memcpy(reference_value(r, v), x, (size_t)n * sizeof *x);
        free(x);
    }
}

static int count(const graph *g, graph_op op)
{
    int n = 0;
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        n += graph_node_at(g, i)->op == op;
    return n;
}

static void test_factors_are_rounded_once(void **state)
{
    const precision_case *c = *state;
    graph_val loss;
    graph *g = build(c->precision, &loss);
    assert_int_equal(graph_precision_of(g), c->precision);
    assert_int_equal(count(g, OP_TO_HALF), c->roundings);
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        const graph_node *n = graph_node_at(g, i);
        for (int32_t k = 0; k < n->n_out; k++)
            assert_int_equal(graph_value_at(g, n->out[k])->def, i);
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k] != GRAPH_NONE)
                assert_true(graph_value_at(g, n->in[k])->def < i);
    }
    graph_destroy(&g);
}

/* One Gemm of rounded factors, so that no rounding can turn on the last bit of a sum before it. */
static void test_sums_are_those_of_rounded_factors(void **state)
{
    const precision_case *c = *state;
    if (!tested_multiplies(c->precision))
        skip();
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val x;
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "x", DT_F32, (graph_shape){2, {67, 300}}, &x, &err), &err);
    graph_val y = add(g, OP_GEMM, "y", x, param(g, "w", 41, 300), param(g, "b", 41, 0),
                      &(gemm_attr){.trans_b = true, .alpha = 0.5f, .beta = 1});
    graph_val z = add(g, OP_MATMUL, "z", x, param(g, "v", 300, 5), GRAPH_NONE, NULL);
    graph_keep(g, y);
    graph_keep(g, z);
    must(graph_set_precision(g, c->precision, &err), &err);
    reference *r = reference_create(g);
    lane l;
    lane_init(&l, (const graph *const *)&g, 1, 2);
    fill(g, &l, r);
    reference_run(r);
    lane_run(&l, 0, NULL);
    double got[67 * 41];
    lane_get(&l, 0, "y", got);
    assert_true(is_close("Gemm", got, reference_value(r, y), 67 * 41, 1e-5));
    lane_get(&l, 0, "z", got);
    assert_true(is_close("MatMul", got, reference_value(r, z), 67 * 5, 1e-5));
    lane_fini(&l);
    reference_destroy(&r);
    graph_destroy(&g);
}

/* A whole step; the lane and its graph are the caller's. */
static graph *train(graph_precision precision, lane *l, double *ret_loss)
{
    error err = ERROR_INIT;
    graph_val loss, weight;
    graph *g = build(precision, &loss);
    must(graph_input(g, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err), &err);
    must(graph_backward(g, loss, weight, &err), &err);
    static const graph *kept[PRECISION_F16 + 1];
    kept[precision] = g;
    lane_init(l, &kept[precision], 1, 2);
    fill(g, l, NULL);
    lane_set(l, 0, "weight", &(double){1});
    lane_run(l, 0, NULL);
    lane_get(l, 0, "loss", ret_loss);
    return g;
}

static void test_parity_with_float32(void **state)
{
    const precision_case *c = *state;
    if (!tested_multiplies(c->precision))
        skip();
    lane exact, rounded;
    double loss, near;
    graph *g = train(PRECISION_F32, &exact, &loss), *h = train(c->precision, &rounded, &near);
    assert_true(fabs(near - loss) < c->rtol / 2 * loss);
    assert_true(near != loss || !c->roundings);
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_PARAM)
            continue;
        const float *a = lane_grad(&exact, value->name), *b = lane_grad(&rounded, value->name);
        double off = 0, size = 0;
        for (int64_t i = 0; i < graph_shape_elements(&value->shape); i++) {
            off += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
            size += (double)a[i] * (double)a[i];
        }
        if (!(sqrt(off) < c->rtol * sqrt(size)))
            fail_msg("the gradient of %s is off by %g of its size", value->name, sqrt(off / size));
    }
    lane_fini(&exact);
    lane_fini(&rounded);
    graph_destroy(&g);
    graph_destroy(&h);
}

#define ROUNDED(test, precision) cmocka_unit_test_prestate(test, (void *)(uintptr_t)&(precision))

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROUNDED(test_factors_are_rounded_once, tf32),
        ROUNDED(test_factors_are_rounded_once, bf16),
        ROUNDED(test_factors_are_rounded_once, f16),
        ROUNDED(test_sums_are_those_of_rounded_factors, bf16),
        ROUNDED(test_sums_are_those_of_rounded_factors, f16),
        ROUNDED(test_parity_with_float32, tf32),
        ROUNDED(test_parity_with_float32, bf16),
        ROUNDED(test_parity_with_float32, f16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
