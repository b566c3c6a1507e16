/*
 * Operators whose operands are stored as halves, one at a time: sources of them, which are norms of
 * parameters, the operator, and a sum of what it makes times weights. Which values are halves is
 * what storage.h says; result and all gradients are those the CPU makes of float32 within what 8
 * bits can do. Then operators of images that lie channels last, which convolutions make, in both
 * precisions.
 */
#include "backend/cuda/cuda.h"
#include "common/base/rng.h"
#include "graph/attrs.h"
#include "graph/precision.h"
#include "numeric/support_compare.h"
#include "numeric/support_lane.h"
#include "numeric/support_tested.h"
#include "support/window_attrs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SOURCES = 3 };
static const double RTOL = 0.15, NOTHING = 1e-5; /* a gradient whose parts cancel out */

/* Where operand i comes from. */
typedef enum origin {
    ABSENT,
    HALF,   /* the norm of a parameter */
    IMAGES, /* the result of a convolution */
    WEIGHT, /* a parameter */
    INPUT,  /* float32 */
    LABELS, /* int64: 0 and 1 */
    BATCH,  /* the batch's id */
} origin;

typedef struct row {
    graph_op op;
    const void *attr;
    bool stays_float; /* what it makes */
    struct {
        origin from;
        graph_shape shape;
    } in[6];
} row;

#define IMAGE                                                                                      \
    {                                                                                              \
        4,                                                                                         \
        {                                                                                          \
            2, 4, 6, 5                                                                             \
        }                                                                                          \
    }
#define ROWS                                                                                       \
    {                                                                                              \
        3,                                                                                         \
        {                                                                                          \
            2, 6, 8                                                                                \
        }                                                                                          \
    }

static const row rows[] = {
    {OP_ADD, NULL, false, {{HALF, IMAGE}, {HALF, IMAGE}}},
    {OP_ADD, NULL, true, {{HALF, IMAGE}, {INPUT, IMAGE}}},
    {OP_SUB, NULL, true, {{INPUT, ROWS}, {HALF, ROWS}}},
    {OP_MUL, NULL, false, {{HALF, ROWS}, {WEIGHT, {1, {8}}}}},
    {OP_MUL, NULL, false, {{HALF, IMAGE}, {WEIGHT, {4, {1, 4, 1, 1}}}}},
    {OP_MAX, NULL, false, {{HALF, ROWS}, {HALF, ROWS}}},
    {OP_PRELU, NULL, false, {{HALF, IMAGE}, {WEIGHT, {3, {4, 1, 1}}}}},
    {OP_NEG, NULL, false, {{HALF, ROWS}}},
    {OP_RELU, NULL, false, {{HALF, IMAGE}}},
    {OP_GELU, &(gelu_attr){.tanh = true}, false, {{HALF, ROWS}}},
    {OP_EXP, NULL, true, {{HALF, ROWS}}},
    {OP_SOFTMAX, &(axis_attr){.axis = -1}, false, {{HALF, ROWS}}},
    {OP_LOG_SOFTMAX, &(axis_attr){.axis = -1}, false, {{HALF, ROWS}}},
    {OP_CONCAT, &(axis_attr){.axis = 1}, false, {{HALF, ROWS}, {HALF, ROWS}}},
    {OP_CONCAT, &(axis_attr){.axis = 1}, false, {{HALF, ROWS}, {WEIGHT, ROWS}}},
    {OP_CONCAT, &(axis_attr){.axis = 1}, true, {{HALF, ROWS}, {INPUT, ROWS}}},
    {OP_TRANSPOSE, &(transpose_attr){.perm = {0, 2, 1}}, false, {{HALF, ROWS}}},
    {OP_RESHAPE, &(shape_attr){.shape = {2, {12, 8}}}, false, {{HALF, ROWS}}},
    {OP_FLATTEN, &(axis_attr){.axis = 1}, false, {{HALF, IMAGE}}},
    {OP_EXPAND, &(shape_attr){.shape = {4, {2, 2, 6, 8}}}, false, {{HALF, {4, {2, 1, 6, 8}}}}},
    {OP_SLICE,
     &(slice_attr){.n_axes = 1, .axes = {1}, .begin = {1}, .end = {5}, .step = {2}},
     false,
     {{HALF, ROWS}}},
    {OP_PAD, &(pad_attr){.pads = {0, 1, 0, 0, 1, 2}}, false, {{HALF, ROWS}}},
    {OP_PAD, &(pad_attr){.pads = {0, 1, 0, 0, 1, 2}, .value = 1}, true, {{HALF, ROWS}}},
    {OP_TRILU, &(trilu_attr){.upper = true}, false, {{HALF, ROWS}}},
    {OP_GATHER, &(gather_attr){.axis = 1}, false, {{HALF, ROWS}, {LABELS, {1, {3}}}}},
    {OP_ROTARY_EMBEDDING,
     &(rotary_attr){.heads = 2},
     false,
     {{HALF, ROWS}, {INPUT, {3, {2, 6, 2}}}, {INPUT, {3, {2, 6, 2}}}}},
    {OP_DROPOUT, &(dropout_attr){.ratio = 0.3f, .seed = 3}, false, {{HALF, ROWS}, {BATCH, {0}}}},
    {OP_BATCH_NORMALIZATION,
     &(batch_norm_attr){.training = true},
     false,
     {{HALF, IMAGE}, {WEIGHT, {1, {4}}}, {WEIGHT, {1, {4}}}, {INPUT, {1, {4}}}, {INPUT, {1, {4}}}}},
    {OP_GROUP_NORMALIZATION,
     &(group_norm_attr){.groups = 2},
     false,
     {{HALF, IMAGE}, {WEIGHT, {1, {4}}}, {WEIGHT, {1, {4}}}}},
    {OP_RMS_NORMALIZATION, &(row_norm_attr){.axis = -1}, false, {{HALF, ROWS}, {WEIGHT, {1, {8}}}}},
    {OP_LAYER_NORMALIZATION,
     &(row_norm_attr){.axis = -1},
     false,
     {{INPUT, ROWS}, {WEIGHT, {1, {8}}}, {WEIGHT, {1, {8}}}}},
    {OP_MAX_POOL, &POOL_ATTR(.kernel = {2, 3}, .strides = {2, 1}), false, {{HALF, IMAGE}}},
    {OP_AVERAGE_POOL, &POOL_ATTR(.kernel = {3, 2}, .pads = {1, 0, 1, 1}), false, {{HALF, IMAGE}}},
    {OP_LP_POOL, &POOL_ATTR(.kernel = {2, 2}), false, {{HALF, IMAGE}}},
    {OP_GLOBAL_AVERAGE_POOL, NULL, false, {{HALF, IMAGE}}},
    {OP_REDUCE_MEAN, &(reduce_attr){.axes = {1}, .n_axes = 1}, true, {{HALF, ROWS}}},
    {OP_REDUCE_MAX, &(reduce_attr){.axes = {1}, .n_axes = 1}, true, {{HALF, ROWS}}},
    {OP_SOFTMAX_CROSS_ENTROPY_LOSS,
     &(sce_attr){.reduction = SCE_NONE},
     true,
     {{HALF, {2, {6, 9}}}, {LABELS, {1, {6}}}}},
    {OP_GEMM,
     &(gemm_attr){GEMM_UNSCALED, .trans_b = true},
     false,
     {{HALF, {2, {6, 16}}}, {WEIGHT, {2, {24, 16}}}, {WEIGHT, {1, {24}}}}},
    {OP_MATMUL, NULL, false, {{HALF, ROWS}, {HALF, {3, {2, 8, 7}}}}},
    {OP_ATTENTION,
     &(attention_attr){.q_heads = 2, .causal = true},
     false,
     {{HALF, {3, {2, 6, 16}}}, {HALF, {3, {2, 6, 16}}}, {HALF, {3, {2, 6, 16}}}}},
    {OP_CONV,
     &CONV_ATTR(.pads = {1, 1, 1, 1}),
     false,
     {{HALF, IMAGE}, {WEIGHT, {4, {6, 4, 3, 3}}}, {WEIGHT, {1, {6}}}}},
    {OP_CONV, NULL, false, {{HALF, IMAGE}, {WEIGHT, {4, {6, 4, 1, 1}}}, {WEIGHT, {1, {6}}}}},
    {OP_CONV_TRANSPOSE,
     &CONV_ATTR(.strides = {2, 1}),
     false,
     {{HALF, IMAGE}, {WEIGHT, {4, {4, 6, 2, 2}}}, {WEIGHT, {1, {6}}}}},
};

#define LAST                                                                                       \
    {                                                                                              \
        4,                                                                                         \
        {                                                                                          \
            2, 8, 6, 5                                                                             \
        }                                                                                          \
    }

static const row images[] = {
    {OP_ADD, NULL, false, {{IMAGES, LAST}, {IMAGES, LAST}}},
    {OP_ADD, NULL, false, {{IMAGES, LAST}, {WEIGHT, {3, {8, 1, 1}}}}},
    {OP_MUL, NULL, false, {{IMAGES, LAST}, {WEIGHT, {4, {2, 8, 1, 1}}}}},
    {OP_SUB, NULL, false, {{WEIGHT, {2, {6, 5}}}, {IMAGES, LAST}}},
    {OP_MUL, NULL, false, {{IMAGES, LAST}, {WEIGHT, LAST}}},
    {OP_ADD, NULL, false, {{IMAGES, LAST}, {WEIGHT, {3, {8, 6, 1}}}}},
    {OP_PRELU, NULL, false, {{IMAGES, LAST}, {WEIGHT, {3, {8, 1, 1}}}}},
    {OP_GELU, NULL, false, {{IMAGES, LAST}}},
    {OP_IDENTITY, NULL, false, {{IMAGES, LAST}}},
    {OP_BATCH_NORMALIZATION,
     &(batch_norm_attr){.training = true},
     false,
     {{IMAGES, LAST},
      {WEIGHT, {1, {8}}},
      {WEIGHT, {1, {8}}},
      {INPUT, {1, {8}}},
      {INPUT, {1, {8}}}}},
    {OP_MAX_POOL, &POOL_ATTR(.kernel = {2, 3}, .strides = {2, 1}), false, {{IMAGES, LAST}}},
    {OP_AVERAGE_POOL,
     &POOL_ATTR(.kernel = {3, 2}, .pads = {1, 0, 1, 1}),
     false,
     {{IMAGES, LAST}}},
    {OP_GLOBAL_AVERAGE_POOL, NULL, false, {{IMAGES, LAST}}},
    {OP_CONV,
     &CONV_ATTR(.pads = {1, 1, 1, 1}, .strides = {2, 1}),
     false,
     {{IMAGES, LAST}, {WEIGHT, {4, {6, 8, 3, 3}}}, {WEIGHT, {1, {6}}}}},
    {OP_CONV, NULL, false, {{IMAGES, LAST}, {WEIGHT, {4, {6, 8, 1, 1}}}, {WEIGHT, {1, {6}}}}},
    {OP_CONV,
     &CONV_ATTR(.strides = {2, 1}),
     false,
     {{IMAGES, LAST}, {WEIGHT, {4, {6, 8, 1, 1}}}, {WEIGHT, {1, {6}}}}},
    {OP_CONV,
     &CONV_ATTR(.strides = {1, 2}),
     false,
     {{IMAGES, {4, {2, 3, 6, 5}}}, {WEIGHT, {4, {8, 3, 3, 3}}}, {WEIGHT, {1, {8}}}}},
    {OP_CONV,
     &CONV_ATTR(.group = 2),
     false,
     {{IMAGES, LAST}, {WEIGHT, {4, {16, 4, 2, 2}}}, {WEIGHT, {1, {16}}}}},
    {OP_CONV,
     &CONV_ATTR(.group = 8),
     false,
     {{IMAGES, LAST}, {WEIGHT, {4, {8, 1, 3, 3}}}, {WEIGHT, {1, {8}}}}},
    {OP_CONV_TRANSPOSE,
     &CONV_ATTR(.strides = {2, 1}),
     false,
     {{IMAGES, LAST}, {WEIGHT, {4, {8, 6, 2, 2}}}, {WEIGHT, {1, {6}}}}},
    {OP_FLATTEN, &(axis_attr){.axis = 1}, false, {{IMAGES, LAST}}},
    {OP_RESHAPE, &(shape_attr){.shape = {3, {2, 8, 30}}}, false, {{IMAGES, LAST}}},
    {OP_TRANSPOSE, &(transpose_attr){.perm = {0, 2, 3, 1}}, false, {{IMAGES, LAST}}},
    {OP_CONCAT, &(axis_attr){.axis = 1}, false, {{IMAGES, LAST}, {IMAGES, LAST}}},
    {OP_SOFTMAX, &(axis_attr){.axis = 1}, false, {{IMAGES, LAST}}},
    {OP_DROPOUT, &(dropout_attr){.ratio = 0.3f, .seed = 3}, false, {{IMAGES, LAST}, {BATCH, {0}}}},
    {OP_GROUP_NORMALIZATION,
     &(group_norm_attr){.groups = 2},
     false,
     {{IMAGES, LAST}, {WEIGHT, {1, {8}}}, {WEIGHT, {1, {8}}}}},
    {OP_REDUCE_MEAN, &(reduce_attr){.axes = {2, 3}, .n_axes = 2}, true, {{IMAGES, LAST}}},
};

/* --- a row as a graph --- */

static graph_val param(graph *g, char kind, int i, const graph_shape *s)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    char name[] = {kind, (char)('0' + i), 0};
    tensor_decl decl = {.name = name, .rank = s->rank};
    memcpy(decl.dim, s->dim, sizeof decl.dim);
    must(graph_param(g, &decl, &v, &err), &err);
    return v;
}

static graph_val input(graph *g, char kind, int i, dtype type, const graph_shape *s)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    char name[] = {kind, (char)('0' + i), 0};
    must(graph_input(g, name, type, *s, &v, &err), &err);
    return v;
}

static graph_val convolved(graph *g, int i, const graph_shape *s)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    graph_shape weights = {4, {s->dim[1], 3, 3, 3}}, x = *s;
    x.dim[1] = 3;
    const graph_val in[] = {input(g, 'x', i, DT_F32, &x), param(g, 'c', i, &weights)};
    must(graph_add_1(g, OP_CONV, NULL, in, 2, &CONV_ATTR(.pads = {1, 1, 1, 1}), &v, &err), &err);
    return v;
}

static graph_val source(graph *g, int i, origin from, const graph_shape *s)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    graph_shape last = {1, {s->rank ? s->dim[s->rank - 1] : 1}};
    if (from == WEIGHT)
        return param(g, 'w', i, s);
    if (from == IMAGES)
        return convolved(g, i, s);
    if (from != HALF)
        return input(g, 'x', i, from == INPUT ? DT_F32 : DT_I64, s);
    const graph_val in[] = {param(g, 'p', i, s), param(g, 's', i, &last), param(g, 'b', i, &last)};
    must(
        graph_add_1(g, OP_LAYER_NORMALIZATION, NULL, in, 3, &(row_norm_attr){.axis = -1}, &v, &err),
        &err);
    return v;
}

/* Whether factors are rounded in it. */
static bool multiplies(const row *r)
{
    graph_op op = r->op;
    return r->in[0].from == IMAGES || r->in[1].from == IMAGES || op == OP_GEMM || op == OP_MATMUL ||
           op == OP_CONV || op == OP_CONV_TRANSPOSE || op == OP_ATTENTION;
}

/* With halves, or as it is for the CPU. Where nothing is multiplied, a value that nobody reads is
 * rounded. */
static graph *build(const row *r, bool halves, graph_val *ret_y)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val in[6], out[5], loss, weight, unused;
    int n = 0;
    must(graph_create(&g, &err), &err);
    for (; n < 6 && r->in[n].from != ABSENT; n++)
        in[n] = source(g, n, r->in[n].from, &r->in[n].shape);
    must(graph_add(g, r->op, "y", in, n, r->attr, out, &err), &err);
    *ret_y = out[0];
    const graph_val factors[] = {out[0], param(g, 'f', 0, &graph_value_at(g, out[0])->shape)};
    must(graph_add_1(g, OP_MUL, NULL, factors, 2, NULL, &loss, &err), &err);
    must(graph_add_1(g, OP_REDUCE_SUM, "loss", &loss, 1, &(reduce_attr){.drop_dims = true}, &loss,
                     &err),
         &err);
    graph_keep(g, loss);
    if (halves)
        must(graph_set_precision(g, PRECISION_BF16, &err), &err);
    if (halves && !multiplies(r))
        must(graph_add_1(g, OP_TO_HALF, NULL, &factors[1], 1, &(cast_attr){.to = DT_BF16}, &unused,
                         &err),
             &err);
    must(graph_input(g, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err), &err);
    must(graph_backward(g, loss, weight, &err), &err);
    return g;
}

/* --- values --- */

static void fill(const graph *g, lane *l)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_PARAM && value->kind != VAL_INPUT)
            continue;
        int64_t n = graph_shape_elements(&value->shape);
        double *x = xcalloc((size_t)n, sizeof *x);
        rng numbers =
            rng_make(2, RNG_TEST, (uint64_t)value->name[0] * 8 + (uint64_t)value->name[1]);
        for (int64_t i = 0; i < n; i++) {
            double normal = (double)rng_normal(&numbers, (uint64_t)i);
            x[i] = value->dtype == DT_I64 ? (double)(i % 2) : normal;
        }
        if (strcmp(value->name, "weight") == 0)
            x[0] = 1;
        lane_set(l, 0, value->name, x);
        free(x);
    }
}

static void step(const graph *const *g, const backend_ops *ops, lane *l)
{
    lane_init_on(l, ops, g, 1, 1);
    fill(*g, l);
    lane_run(l, 0, NULL);
}

static double *doubles(const float *x, int64_t n)
{
    double *ret = xcalloc((size_t)n + 1, sizeof *ret);
    for (int64_t i = 0; i < n; i++)
        ret[i] = (double)x[i];
    return ret;
}

static int count_wrong(const graph *g, const char *what, const lane *got, const lane *want,
                       double rtol)
{
    int wrong = 0;
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *p = graph_value_at(g, v);
        if (p->kind != VAL_PARAM)
            continue;
        char name[96];
        int64_t n = graph_shape_elements(&p->shape);
        double *a = doubles(lane_grad(got, p->name), n), *b = doubles(lane_grad(want, p->name), n);
        snprintf(name, sizeof name, "%s: the gradient of %s", what, p->name);
        wrong += root_mean_square(b, n) > NOTHING && !is_close(name, a, b, n, rtol);
        free(a);
        free(b);
    }
    return wrong;
}

/* How many bytes an element of v takes. */
static size_t element_of(const graph *g, graph_val v)
{
    error err = ERROR_INIT;
    backend *b = NULL;
    backend_program *p = NULL;
    must(backend_cuda.open(&(backend_options){.threads = 1}, &b, &err), &err);
    must(backend_cuda.load(b, g, &p, &err), &err);
    size_t bytes = backend_cuda.value_bytes(p, v);
    backend_cuda.unload(&p);
    backend_cuda.close(&b);
    return bytes / (size_t)graph_shape_elements(&graph_value_at(g, v)->shape);
}

static void compare(const row *r, bool halves)
{
    graph_val y, same;
    const graph *g = build(r, halves, &y), *exact = build(r, false, &same);
    const char *name = graph_op_of(r->op)->name;
    lane got, want;
    if (element_of(g, y) != (r->stays_float || !halves ? 4 : 2))
        fail_msg("%s: an element of the result takes %zu bytes", name, element_of(g, y));
    step(&g, &backend_cuda, &got);
    step(&exact, &backend_cpu, &want);
    assert_int_equal(count_wrong(exact, name, &got, &want, halves ? RTOL : 1e-4), 0);
    lane_fini(&got);
    lane_fini(&want);
    graph_destroy((graph **)&g);
    graph_destroy((graph **)&exact);
}

static void test_halves(void **state)
{
    compare(*state, true);
}

static void test_floats(void **state)
{
    compare(*state, false);
}

static struct CMUnitTest test_of(const row *r, CMUnitTestFunction f)
{
    return (struct CMUnitTest){
        .name = graph_op_of(r->op)->name, .test_func = f, .initial_state = (void *)(uintptr_t)r};
}

int main(void)
{
    enum { N_ROWS = sizeof rows / sizeof *rows, N_IMAGES = sizeof images / sizeof *images };
    static struct CMUnitTest tests[N_ROWS + 2 * N_IMAGES];
    size_t n = 0;
    for (size_t i = 0; i < N_ROWS; i++)
        tests[n++] = test_of(&rows[i], test_halves);
    for (size_t i = 0; i < N_IMAGES; i++) {
        tests[n++] = test_of(&images[i], test_halves);
        tests[n++] = test_of(&images[i], test_floats);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
