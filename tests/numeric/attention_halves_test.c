/*
 * Attention of halves with a mask and with dropout of any generator, forward and backward, against loops in
 * double. The values are the rows of a unit matrix, so that results are the probabilities that dropout has kept:
 * which ones these are decides what every gradient has to be, and the kept ones are a share of all. The second
 * batch may look at nothing.
 */
#include "common/base/rng.h"
#include "graph/attrs.h"
#include "graph/precision.h"
#include "numeric/support_compare.h"
#include "numeric/support_lane.h"
#include "numeric/support_tested.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { BATCHES = 2, HEADS = 4, QUERIES = 70, KEYS = 16, HEAD = 16 }; /* a value is as wide as there are keys */
enum { ROWS = BATCHES * HEADS * QUERIES, Q = ROWS * HEAD, K = BATCHES * HEADS * KEYS * HEAD, MASK = BATCHES * KEYS };
enum { Y, DQ, DK, DV, MADE }; /* what is made, in this order */

static const double scale = 0.25;
static const int64_t n_made[MADE] = {Q, Q, K, K};

typedef struct half_case {
    const char *name;
    graph_precision precision;
    float ratio;
    bool library; /* its dropout is allowed */
} half_case;

static const half_case cases[] = {
    {"bfloat16", PRECISION_BF16, 0.0f, false},
    {"bfloat16, dropout", PRECISION_BF16, 0.25f, false},
    {"bfloat16, a library's dropout", PRECISION_BF16, 0.25f, true},
    {"float16, a library's dropout", PRECISION_F16, 0.25f, true},
};

typedef struct numbers {
    double q[Q], k[K], v[K], dy[Q], mask[MASK];
    double made[MADE][Q];
} numbers;

static graph_val input(graph *g, const char *name, dtype t, graph_shape shape)
{
    error err = ERROR_INIT;
    graph_val v;
    must(graph_input(g, name, t, shape, &v, &err), &err);
    return v;
}

static graph_val factor(graph *g, const char *name, graph_shape shape, graph_precision p)
{
    error err = ERROR_INIT;
    graph_val v = input(g, name, DT_F32, shape);
    cast_attr half = {.to = p == PRECISION_BF16 ? DT_BF16 : DT_F16};
    must(graph_add_1(g, OP_TO_HALF, NULL, &v, 1, &half, &v, &err), &err);
    return v;
}

/* ret_made: y and the gradients. */
static graph *graph_of(const half_case *c, graph_val ret_made[MADE])
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val y[2], gradients[4];
    graph_shape queries = {4, {BATCHES, HEADS, QUERIES, HEAD}}, keys = {4, {BATCHES, HEADS, KEYS, HEAD}};
    attention_attr a = {.scale = (float)scale, .ratio = c->ratio, .seed = 8, .stream = 1};
    must(graph_create(&g, &err), &err);
    const graph_val in[] = {factor(g, "q", queries, c->precision), factor(g, "k", keys, c->precision),
                            factor(g, "v", keys, c->precision),
                            input(g, "mask", DT_BOOL, (graph_shape){4, {BATCHES, 1, 1, KEYS}}),
                            input(g, "id", DT_I64, (graph_shape){1, {1}})};
    must(graph_add(g, OP_ATTENTION, "y", in, 5, &a, y, &err), &err);
    const graph_val back[] = {input(g, "dy", DT_F32, queries), y[0], y[1], in[0], in[1], in[2], in[3], in[4]};
    must(graph_add(g, OP_ATTENTION_BWD, "gradients", back, 8, &a, gradients, &err), &err);
    ret_made[Y] = y[0];
    memcpy(&ret_made[DQ], gradients, 3 * sizeof *gradients);
    for (int i = 0; i < MADE; i++)
        graph_keep(g, ret_made[i]);
    if (c->library)
        graph_allow_library_dropout(g);
    return g;
}

/* Numbers that halves hold. */
static void draw(double *x, int64_t n, uint64_t stream)
{
    rng r = rng_make(7, RNG_TEST, stream);
    for (int64_t i = 0; i < n; i++)
        x[i] = round((double)rng_normal(&r, (uint64_t)i) * 16.0) / 16.0;
}

/* The first batch does not look at its last keys. */
static void make(numbers *x)
{
    draw(x->q, Q, 1);
    draw(x->k, K, 2);
    draw(x->dy, Q, 3);
    for (int64_t i = 0; i < K; i++)
        x->v[i] = i / HEAD % KEYS == i % HEAD;
    for (int64_t i = 0; i < MASK; i++)
        x->mask[i] = i < KEYS - 5;
}

static void run(lane *l, const graph *g, const graph_val made[MADE], numbers *x, double id)
{
    lane_set(l, 0, "q", x->q);
    lane_set(l, 0, "k", x->k);
    lane_set(l, 0, "v", x->v);
    lane_set(l, 0, "dy", x->dy);
    lane_set(l, 0, "mask", x->mask);
    lane_set(l, 0, "id", &id);
    lane_run(l, 0, NULL);
    for (int i = 0; i < MADE; i++)
        lane_get(l, 0, graph_value_at(g, made[i])->name, x->made[i]);
}

static double dot(const double *a, const double *b)
{
    double sum = 0.0;
    for (int i = 0; i < HEAD; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_times(double *sum, double by, const double *x)
{
    for (int i = 0; i < HEAD; i++)
        sum[i] += by * x[i];
}

/* One query of those of all heads, of which x's y tells what dropout has kept; returns how many. */
static int want_row(const numbers *x, int64_t row, float ratio, double want[MADE][Q])
{
    double p[KEYS], kept[KEYS], sum = 0.0, delta = 0.0;
    const double *q = x->q + row * HEAD, *dy = x->dy + row * HEAD, *y = x->made[Y] + row * HEAD;
    const double *mask = x->mask + row / (HEADS * QUERIES) * KEYS;
    int64_t keys = row / QUERIES * KEYS * HEAD;
    int n = 0;
    for (int j = 0; j < KEYS; j++) {
        p[j] = mask[j] != 0.0 ? exp(scale * dot(q, x->k + keys + j * HEAD)) : 0.0;
        kept[j] = y[j] > 0.0 ? 1.0 / (1.0 - (double)ratio) : 0.0;
        n += y[j] > 0.0;
        sum += p[j];
    }
    for (int j = 0; j < KEYS; j++) {
        p[j] = sum > 0.0 ? p[j] / sum : 0.0;
        want[Y][row * HEAD + j] = p[j] * kept[j];
        add_times(want[DV] + keys + j * HEAD, p[j] * kept[j], dy);
        delta += p[j] * kept[j] * dy[j];
    }
    for (int j = 0; j < KEYS; j++) {
        double ds = scale * p[j] * (kept[j] * dy[j] - delta);
        add_times(want[DQ] + row * HEAD, ds, x->k + keys + j * HEAD);
        add_times(want[DK] + keys + j * HEAD, ds, q);
    }
    return n;
}

static void check(const half_case *c, const numbers *x)
{
    static const char *const names[MADE] = {"y", "dq", "dk", "dv"};
    static double want[MADE][Q];
    int n = 0, pairs = HEADS * QUERIES * (KEYS - 5);
    char what[64];
    memset(want, 0, sizeof want);
    for (int64_t row = 0; row < ROWS; row++)
        n += want_row(x, row, c->ratio, want);
    if (!(fabs((double)n / pairs - (1.0 - (double)c->ratio)) < 0.05))
        fail_msg("%s: %d of %d probabilities are kept", c->name, n, pairs);
    for (int i = 0; i < MADE; i++) {
        snprintf(what, sizeof what, "%s: %s", c->name, names[i]);
        assert_true(is_close(what, x->made[i], want[i], n_made[i], 0.02));
    }
}

static void test_attention_of_halves(void **state)
{
    const half_case *c = *state;
    static numbers x, again;
    graph_val made[MADE];
    lane l;
    if (!tested_multiplies(c->precision))
        skip();
    graph *g = graph_of(c, made);
    lane_init(&l, (const graph *const *)&g, 1, 2);
    make(&x);
    run(&l, g, made, &x, 5);
    check(c, &x);
    make(&again);
    run(&l, g, made, &again, 5);
    assert_memory_equal(again.made, x.made, sizeof x.made);
    run(&l, g, made, &again, 6);
    assert_int_equal(memcmp(again.made[Y], x.made[Y], sizeof x.made[Y]) != 0, c->ratio > 0.0f);
    check(c, &again);
    lane_fini(&l);
    graph_destroy(&g);
}

int main(void)
{
    enum { N = sizeof cases / sizeof *cases };
    struct CMUnitTest tests[N];
    for (int i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, test_attention_of_halves, NULL, NULL,
                                       (void *)(uintptr_t)&cases[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
