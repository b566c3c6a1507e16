/*
 * Convolutions in every precision. All operands, and the gradient that comes back, are eighths
 * small enough to be bfloat16, float16 and TF32 already, so rounding changes nothing and value and
 * gradients must be the double reference's to float32's accuracy: 1e-5.
 */
#include "common/base/rng.h"
#include "graph/attrs.h"
#include "graph/precision.h"
#include "numeric/support_compare.h"
#include "numeric/support_gradient.h"
#include "numeric/support_lane.h"
#include "numeric/support_reference.h"
#include "numeric/support_tested.h"
#include "support/window_attrs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ELEMENTS = 40 }; /* of a gradient, evenly spread */

typedef struct conv_case {
    const char *name;
    graph_op op;
    graph_shape x, w;
    int64_t maps;
    conv_attr attr;
    int64_t behind; /* maps of a 1x1 convolution behind a Relu of it; 0: none */
} conv_case;

static const conv_case cases[] = {
    {"3x3",
     OP_CONV,
     {4, {2, 16, 6, 7}},
     {4, {32, 16, 3, 3}},
     32,
     .attr = {DENSE, .group = 1, .pads = {1, 1, 1, 1}}},
    {"stride 2, odd channels",
     OP_CONV,
     {4, {2, 3, 9, 9}},
     {4, {19, 3, 3, 3}},
     19,
     .attr = {DENSE, .group = 1, .strides = {2, 2}}},
    {"groups",
     OP_CONV,
     {4, {1, 8, 5, 5}},
     {4, {12, 4, 3, 3}},
     12,
     .attr = {DENSE, .group = 2}},
    {"signals",
     OP_CONV,
     {3, {2, 5, 11}},
     {3, {7, 5, 3}},
     7,
     .attr = {DENSE, .group = 1, .dilations = {2}}},
    {"videos",
     OP_CONV,
     {5, {1, 16, 4, 5, 5}},
     {5, {16, 16, 3, 1, 1}},
     16,
     .attr = {DENSE, .group = 1, .pads = {1, 0, 0, 1, 0, 0}}},
    {"transposed",
     OP_CONV_TRANSPOSE,
     {4, {2, 16, 3, 4}},
     {4, {16, 8, 2, 2}},
     8,
     .attr = {DENSE, .group = 1, .strides = {2, 2}}},
    {"Relu and 1x1 behind",
     OP_CONV,
     {4, {2, 16, 6, 7}},
     {4, {20, 16, 3, 3}},
     20,
     .attr = {DENSE, .group = 1, .pads = {1, 1, 1, 1}},
     .behind = 19},
};

static graph_val source(graph *g, const char *name, const graph_shape *shape)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    tensor_decl decl = {.name = name, .rank = shape->rank};
    memcpy(decl.dim, shape->dim, sizeof shape->dim);
    must(graph_param(g, &decl, &v, &err), &err);
    return v;
}

static double eighths(const rng *r, int64_t i)
{
    return (double)(int64_t)rng_below(r, (uint64_t)i, 17) / 8 - 1;
}

/* No element is zero, where Relu has no derivative. The 1x1 convolution's own factors are rounded,
 * so that only what comes back through it is exact: sums of `behind` eighths. */
static graph_val relu_and_conv(graph *g, graph_val y, const conv_case *c)
{
    error err = ERROR_INIT;
    graph_val shift, shifted, positive, ret;
    must(graph_const(g, "shift", DT_F32, (graph_shape){0}, &(float){1.0f / 256}, &shift, &err),
         &err);
    must(graph_add_1(g, OP_ADD, "shifted", (graph_val[]){y, shift}, 2, NULL, &shifted, &err), &err);
    must(graph_add_1(g, OP_RELU, "positive", &shifted, 1, NULL, &positive, &err), &err);
    graph_val w = source(g, "v", &(graph_shape){4, {c->behind, c->maps, 1, 1}});
    must(graph_add_1(g, OP_CONV, "behind", (graph_val[]){positive, w}, 2, &CONV_ATTR(), &ret,
                     &err),
         &err);
    return ret;
}

static graph *build(const conv_case *c, graph_val *ret_loss)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val y;
    must(graph_create(&g, &err), &err);
    graph_val in[] = {source(g, "x", &c->x), source(g, "w", &c->w),
                      source(g, "b", &(graph_shape){1, {c->maps}})};
    must(graph_add_1(g, c->op, "conv", in, 3, &c->attr, &y, &err), &err);
    if (c->behind)
        y = relu_and_conv(g, y, c);
    else
        graph_keep(g, y);
    graph_shape shape = graph_value_at(g, y)->shape;
    int64_t n = graph_shape_elements(&shape);
    float *factors = xcalloc((size_t)n, sizeof *factors);
    rng r = rng_make(4, RNG_TEST, 1);
    for (int64_t i = 0; i < n; i++)
        factors[i] = c->behind ? (float)rng_below(&r, (uint64_t)i, 3) - 1 : (float)eighths(&r, i);
    *ret_loss = gradient_loss(g, y, factors);
    free(factors);
    graph_keep(g, *ret_loss);
    return g;
}

static void fill(const graph *g, reference *r)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_PARAM)
            continue;
        rng numbers = rng_make(1, RNG_TEST, (uint64_t)value->name[0]);
        for (int64_t i = 0; i < reference_elements(r, v); i++)
            reference_value(r, v)[i] = eighths(&numbers, i);
    }
}

/* The same to the lane. */
static void feed(const graph *g, lane *l, reference *r)
{
    for (graph_val v = 0; v < graph_n_values(g); v++)
        if (graph_value_at(g, v)->kind == VAL_PARAM)
            lane_set(l, 0, graph_value_at(g, v)->name, reference_value(r, v));
    lane_set(l, 0, "weight", &(double){1});
}

static const char *const params[] = {"x", "w", "b"};
enum { W = 1, PARAMS = 3 };

/* What the reference says of a case. */
typedef struct expected {
    const conv_case *of;
    graph *plain;
    reference *r;
    double derivatives[PARAMS][ELEMENTS];
} expected;

static int64_t elements_of(const expected *e, const char *name)
{
    return reference_elements(e->r, graph_find(e->plain, name));
}

/* Where the k-th of the elements that are looked at stands among n. */
static int64_t spread(int64_t k, int64_t n)
{
    return n <= ELEMENTS ? k : k * (n - 1) / (ELEMENTS - 1);
}

static int64_t looked_at(int64_t n)
{
    return n < ELEMENTS ? n : ELEMENTS;
}

/* A linear function's derivative along one element is that element of its gradient. */
static void find_derivatives(expected *e, graph_val loss, const char *name, double *ret)
{
    int64_t n = elements_of(e, name);
    double *direction = xcalloc((size_t)n, sizeof *direction);
    for (int64_t k = 0; k < looked_at(n); k++) {
        direction[spread(k, n)] = 1;
        ret[k] = reference_derivative(e->r, loss, graph_find(e->plain, name), direction);
        direction[spread(k, n)] = 0;
    }
    free(direction);
}

static void expect(const conv_case *c, expected *ret)
{
    graph_val loss;
    *ret = (expected){.of = c, .plain = build(c, &loss)};
    ret->r = reference_create(ret->plain);
    fill(ret->plain, ret->r);
    reference_run(ret->r);
    for (int i = 0; i < PARAMS; i++)
        find_derivatives(ret, loss, params[i], ret->derivatives[i]);
}

static int n_rounded; /* elements of gradients that may be halves */

static bool check_gradient(const expected *e, const char *what, const lane *l, int param, double tolerance)
{
    int64_t n = elements_of(e, params[param]);
    double got[ELEMENTS];
    for (int64_t k = 0; k < looked_at(n); k++) {
        got[k] = (double)lane_grad(l, params[param])[spread(k, n)];
        n_rounded += fabs(got[k] - e->derivatives[param][k]) > 1e-5 * fabs(e->derivatives[param][k]) &&
                     tolerance > 1e-5;
    }
    return is_close(what, got, e->derivatives[param], looked_at(n), tolerance);
}

static bool check_value(const expected *e, const char *what, lane *l)
{
    int64_t n = elements_of(e, "conv");
    double *got = xcalloc((size_t)n, sizeof *got);
    lane_get(l, 0, "conv", got);
    bool close = is_close(what, got, reference_value(e->r, graph_find(e->plain, "conv")), n, 1e-5);
    free(got);
    return close;
}

/* A precision, and the tolerance of weights' gradients that may be halves; 0: they may not. */
typedef struct way {
    graph_precision is;
    const char *name;
    double half;
} way;

static bool check(const expected *e, const way *w)
{
    error err = ERROR_INIT;
    char what[96];
    graph_val loss;
    graph *g = build(e->of, &loss);
    lane l;
    snprintf(what, sizeof what, "%s, %s", e->of->name, w->name);
    must(graph_set_precision(g, w->is, &err), &err);
    if (w->half > 0)
        graph_allow_half_weight_gradients(g);
    gradient_append(g, loss);
    lane_init(&l, (const graph *const *)&g, 1, 2);
    feed(e->plain, &l, e->r);
    lane_run(&l, 0, NULL);
    bool close = e->of->behind || check_value(e, what, &l);
    for (int i = 0; i < PARAMS; i++)
        close = check_gradient(e, what, &l, i, i == W && w->half > 0 ? w->half : 1e-5) && close;
    lane_fini(&l);
    graph_destroy(&g);
    return close;
}

static void test_exact_factors(void **state)
{
    (void)state;
    static const way ways[] = {
        {PRECISION_TF32, "TF32", 0},
        {PRECISION_BF16, "bfloat16", 0},
        {PRECISION_F16, "float16", 0},
        {PRECISION_BF16, "gradients of weights in bfloat16", 5e-3},
        {PRECISION_F16, "gradients of weights in float16", 6e-4},
    };
    int wrong = 0;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        expected e;
        expect(&cases[i], &e);
        for (size_t k = 0; k < COUNT_OF(ways); k++)
            if (tested_multiplies(ways[k].is))
                wrong += !check(&e, &ways[k]);
        reference_destroy(&e.r);
        graph_destroy(&e.plain);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(n_rounded > 0, tested_rounds_weight_gradients());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact_factors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
