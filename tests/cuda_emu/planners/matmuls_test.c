/*
 * Matrix products and convolutions of the CUDA backend, by cuBLASLt (as it is played) and by our
 * own kernels, against the CPU backend: an operator at a time, in float32 and, fed with the same
 * numbers rounded, in every other precision.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "cuda_emu/block.h"
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/planners/support_engine.h"
#include "graph/attrs.h"
#include "graph/precision.h"
#include "support/window_attrs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN = 3, OUT = 2 };

typedef struct row {
    const char *name;
    graph_op op;
    const void *attr;
    graph_shape in[IN]; /* rank 0 and no first axis: absent */
} row;

#define SCALAR                                                                                     \
    {                                                                                              \
        .dim = { 1 }                                                                               \
    }

static const row matmuls[] = {
    {"[5,7] [7,9] + row", OP_GEMM, NULL, {{2, {5, 7}}, {2, {7, 9}}, {1, {9}}}},
    {"[64,64] [64,64] + row", OP_GEMM, NULL, {{2, {64, 64}}, {2, {64, 64}}, {2, {1, 64}}}},
    {"a' b' + all",
     OP_GEMM,
     &(gemm_attr){.alpha = -0.5f, .beta = 2.0f, .trans_a = true, .trans_b = true},
     {{2, {7, 65}}, {2, {70, 7}}, {2, {65, 70}}}},
    {"a' b", OP_GEMM, &(gemm_attr){GEMM_UNSCALED, .trans_a = true}, {{2, {17, 6}}, {2, {17, 72}}}},
    {"a b' + half of a row",
     OP_GEMM,
     &(gemm_attr){.alpha = 1, .beta = 0.5f, .trans_b = true},
     {{2, {9, 8}}, {2, {66, 8}}, {1, {66}}}},
    {"+ column", OP_GEMM, NULL, {{2, {5, 7}}, {2, {7, 9}}, {2, {5, 1}}}},
    {"+ number", OP_GEMM, NULL, {{2, {5, 7}}, {2, {7, 9}}, SCALAR}},
    {"one row",
     OP_GEMM,
     &(gemm_attr){GEMM_UNSCALED, .trans_b = true},
     {{2, {1, 33}}, {2, {5, 33}}, {1, {5}}}},
    {"one column",
     OP_GEMM,
     &(gemm_attr){GEMM_UNSCALED, .trans_a = true},
     {{2, {33, 5}}, {2, {33, 1}}, {1, {1}}}},
    {"one term", OP_GEMM, NULL, {{2, {5, 1}}, {2, {1, 6}}}},
    {"long sums", OP_GEMM, NULL, {{2, {6, 1024}}, {2, {1024, 8}}, {1, {8}}}},
    {"long odd sums",
     OP_GEMM,
     &(gemm_attr){.alpha = 2.0f, .beta = 1},
     {{2, {6, 1031}}, {2, {1031, 8}}}},
    {"batches", OP_MATMUL, NULL, {{4, {2, 3, 4, 5}}, {4, {2, 3, 5, 6}}}},
    {"one matrix for all", OP_MATMUL, NULL, {{3, {3, 4, 5}}, {2, {5, 6}}}},
    {"one matrix for all, transposed",
     OP_MATMUL,
     &(matmul_attr){.trans_a = true},
     {{3, {3, 5, 4}}, {2, {5, 6}}}},
    {"one on the left", OP_MATMUL, &(matmul_attr){.trans_b = true}, {{2, {4, 5}}, {3, {3, 6, 5}}}},
    {"crossed", OP_MATMUL, NULL, {{4, {2, 1, 4, 5}}, {4, {1, 3, 5, 6}}}},
    {"crossed with more",
     OP_MATMUL,
     &(matmul_attr){.trans_a = true, .trans_b = true},
     {{5, {2, 1, 3, 5, 4}}, {4, {4, 1, 6, 5}}}},
    {"every other", OP_MATMUL, NULL, {{5, {2, 3, 2, 2, 3}}, {5, {2, 1, 2, 3, 2}}}},
    {"vector by vector", OP_MATMUL, NULL, {{1, {5}}, {1, {5}}}},
    {"vector by matrices", OP_MATMUL, NULL, {{1, {5}}, {3, {3, 5, 6}}}},
    {"matrices by vector", OP_MATMUL, NULL, {{3, {3, 4, 5}}, {1, {5}}}},
    {"long sums in batches", OP_MATMUL, NULL, {{3, {2, 3, 768}}, {3, {2, 768, 4}}}},
};

#define CONV(...)  &CONV_ATTR(__VA_ARGS__)
#define OUT_X(...) .x = __VA_ARGS__
#define OUT_W(...) .w = __VA_ARGS__

static const row convolutions[] = {
    {"3x3",
     OP_CONV,
     CONV(.pads = {1, 1, 1, 1}),
     {{4, {2, 8, 6, 7}}, {4, {16, 8, 3, 3}}, {1, {16}}}},
    {"three channels",
     OP_CONV,
     CONV(.strides = {2, 2}, .pads = {3, 3, 2, 3}),
     {{4, {2, 3, 9, 8}}, {4, {5, 3, 5, 5}}}},
    {"1x1", OP_CONV, NULL, {{4, {2, 12, 3, 5}}, {4, {7, 12, 1, 1}}, {1, {7}}}},
    {"1x1 with a stride", OP_CONV, CONV(.strides = {2, 1}), {{4, {2, 4, 5, 3}}, {4, {7, 4, 1, 1}}}},
    {"groups",
     OP_CONV,
     CONV(.group = 2, .dilations = {2, 1}),
     {{4, {1, 8, 6, 5}}, {4, {20, 4, 2, 3}}, {1, {20}}}},
    {"a group a channel",
     OP_CONV,
     CONV(.group = 6, .pads = {1, 0, 1, 2}),
     {{4, {2, 6, 5, 6}}, {4, {6, 1, 3, 3}}, {1, {6}}}},
    {"signals", OP_CONV, CONV(.pads = {2, 1}), {{3, {2, 5, 11}}, {3, {7, 5, 3}}, {1, {7}}}},
    {"volumes", OP_CONV, CONV(.strides = {1, 2, 1}), {{5, {1, 4, 3, 5, 4}}, {5, {5, 4, 2, 3, 2}}}},
    {"many weights", OP_CONV, NULL, {{4, {1, 64, 4, 4}}, {4, {8, 64, 3, 3}}, {1, {8}}}},
    {"transposed",
     OP_CONV_TRANSPOSE,
     CONV(.strides = {2, 1}, .pads = {1, 0, 1, 1}, .output_padding = {1, 0}),
     {{4, {2, 8, 4, 5}}, {4, {8, 5, 3, 3}}, {1, {5}}}},
    {"transposed groups",
     OP_CONV_TRANSPOSE,
     CONV(.group = 2, .strides = {2}),
     {{3, {2, 6, 4}}, {3, {6, 2, 3}}, {1, {4}}}},
    {"transposed 1x1", OP_CONV_TRANSPOSE, NULL, {{4, {2, 8, 3, 3}}, {4, {8, 5, 1, 1}}, {1, {5}}}},
    {"data 3x3",
     OP_CONV_BWD_DATA,
     CONV(.strides = {2, 1}, .pads = {1, 1, 1, 1}, OUT_X({4, {2, 5, 6, 7}})),
     {{4, {2, 8, 3, 7}}, {4, {8, 5, 3, 3}}}},
    {"data of groups",
     OP_CONV_BWD_DATA,
     CONV(.group = 3, OUT_X({3, {2, 6, 7}})),
     {{3, {2, 9, 5}}, {3, {9, 2, 3}}}},
    {"data 1x1",
     OP_CONV_BWD_DATA,
     CONV(OUT_X({4, {2, 12, 3, 5}})),
     {{4, {2, 7, 3, 5}}, {4, {7, 12, 1, 1}}}},
    {"weights 3x3",
     OP_CONV_BWD_WEIGHTS,
     CONV(.pads = {1, 1, 1, 1}, .with_bias = true, OUT_W({4, {6, 8, 3, 3}})),
     {{4, {2, 8, 6, 7}}, {4, {2, 6, 6, 7}}}},
    {"weights of a group a channel",
     OP_CONV_BWD_WEIGHTS,
     CONV(.group = 4, .with_bias = true, OUT_W({4, {4, 1, 3, 2}})),
     {{4, {2, 4, 5, 4}}, {4, {2, 4, 3, 3}}}},
    {"weights 1x1",
     OP_CONV_BWD_WEIGHTS,
     CONV(.with_bias = true, OUT_W({4, {7, 12, 1, 1}})),
     {{4, {2, 12, 3, 5}}, {4, {2, 7, 3, 5}}}},
    {"weights of many positions",
     OP_CONV_BWD_WEIGHTS,
     CONV(.with_bias = true, OUT_W({4, {5, 3, 2, 2}})),
     {{4, {2, 3, 21, 21}}, {4, {2, 5, 20, 20}}}},
    {"weights of many positions, a group a channel",
     OP_CONV_BWD_WEIGHTS,
     CONV(.group = 2, .with_bias = true, OUT_W({4, {2, 1, 2, 2}})),
     {{4, {2, 2, 21, 21}}, {4, {2, 2, 20, 20}}}},
};

/* Of kernels of one position that pass over some: a product with a copy of what they look at. */
static const row steps[] = {
    {"weights 1x1 with a stride",
     OP_CONV_BWD_WEIGHTS,
     CONV(.strides = {2, 2}, .with_bias = true, OUT_W({4, {7, 16, 1, 1}})),
     {{4, {2, 16, 5, 6}}, {4, {2, 7, 3, 3}}}},
    {"weights 1x1 with a stride and a rest",
     OP_CONV_BWD_WEIGHTS,
     CONV(.strides = {3, 1}, .with_bias = true, OUT_W({4, {7, 5, 1, 1}})),
     {{4, {2, 5, 6, 3}}, {4, {2, 7, 2, 3}}}},
    {"weights 1x1x1 with strides",
     OP_CONV_BWD_WEIGHTS,
     CONV(.strides = {2, 1, 3}, .with_bias = true, OUT_W({5, {4, 6, 1, 1, 1}})),
     {{5, {1, 6, 3, 2, 4}}, {5, {1, 4, 2, 2, 2}}}},
};

static bool is_matmul(graph_op op)
{
    return op == OP_GEMM || op == OP_MATMUL;
}

static int outputs_of(const row *r)
{
    return r->op == OP_CONV_BWD_WEIGHTS ? 2 : 1;
}

static int inputs_of(const row *r)
{
    int n = 0;
    while (n < IN && r->in[n].dim[0])
        n++;
    return n;
}

typedef struct precision {
    const char *name;
    graph_precision is;
    dtype factors;
} precision;

static const precision exact = {"float32", PRECISION_F32, DT_F32},
                       rounded[] = {
                           {"TF32", PRECISION_TF32, DT_F32},
                           {"bfloat16", PRECISION_BF16, DT_BF16},
                           {"float16", PRECISION_F16, DT_F16},
};

/* With halves these are of half precision; weights of a convolution are rounded by its kernel. */
static bool is_half(const row *r, int i)
{
    return i == 0 || (i == 1 && (is_matmul(r->op) || r->op == OP_CONV_BWD_WEIGHTS));
}

static graph *graph_of(const row *r, const precision *p)
{
    static const char *const names[] = {"in0", "in1", "in2"};
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val in[IN], out[OUT];
    must(graph_create(&g, &err), &err);
    for (int i = 0; i < inputs_of(r); i++) {
        dtype type = is_half(r, i) ? p->factors : DT_F32;
        must(graph_input(g, names[i], type, r->in[i], &in[i], &err), &err);
    }
    must(graph_add(g, r->op, "y", in, inputs_of(r), r->attr, out, &err), &err);
    for (int i = 0; i < outputs_of(r); i++)
        graph_keep(g, out[i]);
    if (p->is == PRECISION_TF32)
        must(graph_set_precision(g, p->is, &err), &err);
    return g;
}

static float as_factor(float x, graph_precision p)
{
    uint32_t u = p == PRECISION_BF16 ? (uint32_t)emu_bf16_of(x) << 16 : emu_tf32_of(x);
    if (p == PRECISION_F32)
        return x;
    if (p == PRECISION_F16)
        return emu_f16_to_float(emu_f16_of(x));
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Rounds the first two, if the graph does not. */
static void feed(exec *e, const row *r, const precision *p)
{
    static const char *const names[] = {"in0", "in1", "in2"};
    for (int i = 0; i < inputs_of(r); i++) {
        const graph_value *v = NULL;
        void *to = exec_input(e, 0, names[i], &v);
        rng random = rng_make(7, RNG_TEST, (uint64_t)i);
        for (int64_t k = 0; k < graph_shape_elements(&v->shape); k++) {
            float x = rng_normal(&random, (uint64_t)k);
            if (dtype_is_half(v->dtype))
                ((uint16_t *)to)[k] = v->dtype == DT_BF16 ? emu_bf16_of(x) : emu_f16_of(x);
            else
                ((float *)to)[k] = i < 2 ? as_factor(x, p->is) : x;
        }
    }
}

static const char *name_of(const graph *g, int i)
{
    return graph_value_at(g, graph_node_at(g, 0)->out[i])->name;
}

static void expect_close(const char *what, const float *got, const float *want, int64_t n)
{
    double square = 0;
    for (int64_t i = 0; i < n; i++)
        square += (double)want[i] * (double)want[i];
    double size = sqrt(square / (double)n);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= 1e-5 * (fabs((double)want[i]) + size)))
            fail_msg("%s: [%d] of %d is %.9g, not %.9g", what, (int)i, (int)n, (double)got[i],
                     (double)want[i]);
}

/* With TF32 only matmuls round: a bias's gradient, output 1, is a sum of what came. */
static bool is_rounded(int output, const precision *p)
{
    return dtype_is_half(p->factors) || output == 0;
}

/* Twice, so that what a run leaves behind shows; the second time the bits are the same. */
static void check(const row *r, const precision *p)
{
    error err = ERROR_INIT;
    graph *on_cpu = graph_of(r, &exact), *on_gpu = graph_of(r, p);
    exec *cpu = engine(&backend_cpu, on_cpu), *gpu = engine(&backend_cuda, on_gpu);
    for (int i = 0; i < outputs_of(r); i++) {
        const graph_value *v = NULL;
        char what[96];
        snprintf(what, sizeof what, "%s, output %d, %s", r->name, i, p->name);
        feed(cpu, r, is_rounded(i, p) ? p : &exact);
        must(exec_run(cpu, 0, NULL, &err), &err);
        const float *want = exec_value(cpu, 0, name_of(on_cpu, i), &v);
        int64_t n = graph_shape_elements(&v->shape);
        float *first = xcalloc((size_t)n, sizeof *first);
        feed(gpu, r, &exact);
        must(exec_run(gpu, 0, NULL, &err), &err);
        memcpy(first, exec_value(gpu, 0, name_of(on_gpu, i), NULL), (size_t)n * sizeof *first);
        expect_close(what, first, want, n);
        feed(gpu, r, &exact);
        must(exec_run(gpu, 0, NULL, &err), &err);
        assert_memory_equal(exec_value(gpu, 0, name_of(on_gpu, i), NULL), first,
                            (size_t)n * sizeof *first);
        free(first);
    }
    exec_destroy(&cpu);
    exec_destroy(&gpu);
    graph_destroy(&on_cpu);
    graph_destroy(&on_gpu);
}

/* Our own kernels multiply small groups as float32 also with TF32. */
static bool has_groups(const row *r)
{
    return !is_matmul(r->op) && r->attr && ((const conv_attr *)r->attr)->group > 1;
}

/* Each in float32 and in one of the others. */
static void check_all(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check(&rows[i], &exact);
        check(&rows[i], &rounded[has_groups(&rows[i]) ? 1 + i % 2 : i % COUNT_OF(rounded)]);
    }
}

static void by_ourselves(void)
{
    uint64_t before = fake_lt_matmuls(), graphs = fake_dnn_runs();
    check_all(matmuls, COUNT_OF(matmuls));
    check_all(convolutions, COUNT_OF(convolutions));
    check_all(steps, COUNT_OF(steps));
    assert_int_equal(fake_lt_matmuls(), before);
    assert_int_equal(fake_dnn_runs(), graphs);
}

static void test_matmuls_by_cublas(void **state)
{
    (void)state;
    uint64_t before = fake_lt_matmuls();
    check_all(matmuls, COUNT_OF(matmuls));
    assert_true(fake_lt_matmuls() > before);
}

static void test_convolutions_by_cublas_where_they_are_matmuls(void **state)
{
    (void)state;
    uint64_t before = fake_lt_matmuls(), graphs = fake_dnn_runs();
    check_all(convolutions, COUNT_OF(convolutions));
    assert_true(fake_lt_matmuls() > before);
    assert_true(fake_dnn_runs() > graphs);
}

/* The first layer's, of halves in an odd number of channels: cuDNN makes it, of an image with one channel
 * more. */
static void test_weights_of_three_channels_are_cudnns(void **state)
{
    (void)state;
    const row three = {"weights of three channels",
                       OP_CONV_BWD_WEIGHTS,
                       CONV(.strides = {2, 2}, .pads = {1, 1, 1, 1}, .with_bias = true,
                            OUT_W({4, {5, 3, 3, 3}})),
                       {{4, {2, 3, 8, 6}}, {4, {2, 5, 4, 3}}}};
    for (size_t i = 0; i < COUNT_OF(rounded); i++) {
        uint64_t before = fake_dnn_runs();
        check(&three, &rounded[i]);
        assert_true(fake_dnn_runs() > before);
    }
}

static void test_weights_of_one_position_are_products(void **state)
{
    (void)state;
    uint64_t graphs = fake_dnn_runs();
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        uint64_t before = fake_lt_matmuls();
        check_all(&steps[i], 1);
        check(&steps[i], &rounded[1]);
        assert_true(fake_lt_matmuls() > before);
    }
    assert_int_equal(fake_dnn_runs(), graphs);
}

/* Positions that lie in a pad are none of x's. */
static void test_weights_of_one_position_with_pads_are_cudnns(void **state)
{
    (void)state;
    const row begins = {"weights 1x1 with pads",
                        OP_CONV_BWD_WEIGHTS,
                        CONV(.strides = {2, 2}, .pads = {1, 1, 0, 0}, .with_bias = true,
                             OUT_W({4, {7, 8, 1, 1}})),
                        {{4, {2, 8, 4, 4}}, {4, {2, 7, 3, 3}}}},
              ends = {"weights 1x1 with pads behind",
                      OP_CONV_BWD_WEIGHTS,
                      CONV(.strides = {2, 2}, .pads = {0, 0, 1, 1}, .with_bias = true,
                           OUT_W({4, {7, 8, 1, 1}})),
                      {{4, {2, 8, 5, 5}}, {4, {2, 7, 3, 3}}}},
              beyond = {"weights 1x1 with positions behind",
                        OP_CONV_BWD_WEIGHTS,
                        CONV(.strides = {2, 2}, .pads = {0, 0, 2, 2}, .with_bias = true,
                             OUT_W({4, {7, 8, 1, 1}})),
                        {{4, {2, 8, 3, 3}}, {4, {2, 7, 3, 3}}}};
    uint64_t before = fake_dnn_runs(), products = fake_lt_matmuls();
    check(&begins, &rounded[1]);
    check(&beyond, &rounded[1]);
    assert_true(fake_dnn_runs() > before);
    assert_int_equal(fake_lt_matmuls(), products);
    check(&ends, &rounded[1]);
    assert_true(fake_lt_matmuls() > products);
}

static void test_convolutions_cudnn_has_no_engine_for(void **state)
{
    (void)state;
    uint64_t before = fake_dnn_runs();
    fake_dnn_refuse(true);
    check_all(convolutions, COUNT_OF(convolutions));
    fake_dnn_refuse(false);
    assert_int_equal(fake_dnn_runs(), before);
}

static void test_without_a_library(void **state)
{
    (void)state;
    fakes_hide(true);
    by_ourselves();
    fakes_hide(false);
}

static void test_where_the_library_has_no_algorithm(void **state)
{
    (void)state;
    uint64_t before = fake_lt_matmuls();
    fake_lt_refuse(LT_NOT_SUPPORTED);
    check_all(matmuls, COUNT_OF(matmuls));
    fake_lt_refuse(API_SUCCESS);
    assert_int_equal(fake_lt_matmuls(), before);
}

static void test_a_window_too_large_is_refused(void **state)
{
    (void)state;
    const row strides = {
        "stride", OP_CONV, CONV(.strides = {INT32_MAX}), {{3, {1, 1, 3}}, {3, {1, 1, 3}}}};
    error err = ERROR_INIT;
    graph *g = graph_of(&strides, &exact);
    exec *e = NULL;
    exec_options o = {.backend = &backend_cuda, .graphs = (const graph *const[]){g}, .n_graphs = 1};
    assert_int_equal(exec_create(&o, &e, &err), E_UNSUPPORTED);
    assert_string_equal(err.text,
                        "the GPU has no kernel for y (Conv): 2147483647 positions of a stride "
                        "are too many for its kernels, which count to 2147482624");
    graph_destroy(&g);
}

static void expect_failure(const row *r, const char *text)
{
    error err = ERROR_INIT;
    graph *g = graph_of(r, &exact);
    exec *e = NULL;
    exec_options o = {.backend = &backend_cuda, .graphs = (const graph *const[]){g}, .n_graphs = 1};
    assert_int_equal(exec_create(&o, &e, &err), E_DEVICE);
    assert_string_equal(err.text, text);
    error_clear(&err);
    graph_destroy(&g);
}

static void test_a_library_that_cannot_be_opened_is_told_of(void **state)
{
    (void)state;
    fake_lt_fail(true);
    expect_failure(&matmuls[0], "y: cuBLASLt, opening it (TEQUIO_CUDA_LIBRARIES=none does "
                                "without): the library was not initialized");
    fake_lt_fail(false);
    fake_dnn_fail(true);
    expect_failure(&convolutions[0], "y: cuDNN, opening it (TEQUIO_CUDA_LIBRARIES=none does "
                                     "without): CUDNN_STATUS_NOT_INITIALIZED");
    fake_dnn_fail(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_matmuls_by_cublas),
        KERNEL_TEST(test_convolutions_by_cublas_where_they_are_matmuls),
        KERNEL_TEST(test_weights_of_three_channels_are_cudnns),
        KERNEL_TEST(test_weights_of_one_position_are_products),
        KERNEL_TEST(test_weights_of_one_position_with_pads_are_cudnns),
        KERNEL_TEST(test_convolutions_cudnn_has_no_engine_for),
        KERNEL_TEST(test_without_a_library),
        KERNEL_TEST(test_where_the_library_has_no_algorithm),
        KERNEL_TEST(test_a_library_that_cannot_be_opened_is_told_of),
        KERNEL_TEST(test_a_window_too_large_is_refused),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
