/*
 * Scores over many words: where their rows would begin at uneven places the GPU has them apart,
 * from the matmul that makes them to those that their gradient goes into, and what comes of it is
 * the CPU's; where somebody else reads them they lie as ever.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/planners/support_engine.h"
#include "graph/attrs.h"
#include "graph/precision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 6, DEPTH = 8, UNEVEN = 1027, EVEN = 1088 };

/* What else is done with scores or their gradient. */
typedef enum other_reader { NOBODY, KEPT, SUMMED, READERS } other_reader;

typedef struct scene {
    int64_t words;
    graph_precision precision;
    other_reader reader;
} scene;

static graph_val add(graph *g, graph_op op, const graph_val *in, int32_t n, const void *attr)
{
    error err = ERROR_INIT;
    graph_val out[3];
    must(graph_add(g, op, NULL, in, n, attr, out, &err), &err);
    return out[0];
}

static graph_val input(graph *g, const char *name, dtype t, graph_shape shape)
{
    error err = ERROR_INIT;
    graph_val v;
    must(graph_input(g, name, t, shape, &v, &err), &err);
    return v;
}

/* As it is multiplied. */
static graph_val factor(graph *g, const scene *s, graph_val v)
{
    dtype half = s->precision == PRECISION_BF16 ? DT_BF16 : DT_F16;
    bool rounds = s->precision == PRECISION_BF16 || s->precision == PRECISION_F16;
    return rounds ? add(g, OP_TO_HALF, &v, 1, &(cast_attr){.to = half}) : v;
}

static graph_val matmul(graph *g, graph_val a, graph_val b, bool trans_a, bool trans_b)
{
    return add(g, OP_GEMM, (graph_val[]){a, b}, 2,
               &(gemm_attr){GEMM_UNSCALED, .trans_a = trans_a, .trans_b = trans_b});
}

static void keep(graph *g, graph_val v, const char *name)
{
    error err = ERROR_INIT;
    must(graph_rename(g, v, name, &err), &err);
    graph_keep(g, v);
}

static graph_val reshaped(graph *g, graph_val v, graph_shape to)
{
    return add(g, OP_RESHAPE, &v, 1, &(shape_attr){.shape = to});
}

/* The head of a model of language, and its gradients; *ret_scores and *ret_gradients as matmuls
 * know them. */
static graph *graph_of(const scene *s, graph_val *ret_scores, graph_val *ret_gradients)
{
    error err = ERROR_INIT;
    static const sce_attr mean = {.reduction = SCE_MEAN};
    graph *g = NULL;
    graph_val of_loss[3];
    must(graph_create(&g, &err), &err);
    graph_val x = factor(g, s, input(g, "x", DT_F32, (graph_shape){2, {ROWS, DEPTH}}));
    graph_val w = factor(g, s, input(g, "w", DT_F32, (graph_shape){2, {s->words, DEPTH}}));
    graph_val label = input(g, "label", DT_I64, (graph_shape){1, {ROWS}});
    graph_val weight = input(g, "weight", DT_F32, (graph_shape){.rank = 0});
    graph_val scores = *ret_scores = matmul(g, x, w, false, true);
    scores = reshaped(g, scores, (graph_shape){3, {2, ROWS / 2, s->words}});
    scores = reshaped(g, scores, (graph_shape){2, {ROWS, s->words}});
    must(graph_add(g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, NULL, (graph_val[]){scores, label}, 2, &mean,
                   of_loss, &err),
         &err);
    keep(g, add(g, OP_ACCURACY, (graph_val[]){scores, label}, 2, &(accuracy_attr){0}), "right");
    graph_val gradients = *ret_gradients =
        add(g, OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD,
            (graph_val[]){scores, weight, label, of_loss[1], of_loss[2]}, 5, &mean);
    graph_val half = factor(g, s, gradients);
    keep(g, of_loss[0], "loss");
    keep(g, matmul(g, half, x, true, false), "dw");
    keep(g, matmul(g, half, w, false, false), "dx");
    if (s->reader == KEPT)
        keep(g, *ret_scores, "scores");
    if (s->reader == SUMMED)
        keep(g, add(g, OP_REDUCE_SUM, &gradients, 1, &(reduce_attr){.n_axes = 1, .axes = {0}}),
             "sums");
    if (s->precision == PRECISION_TF32)
        must(graph_set_precision(g, s->precision, &err), &err);
    return g;
}

static void run(const scene *s, exec *e)
{
    error err = ERROR_INIT;
    static const char *const names[] = {"x", "w"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        rng r = rng_make(7, RNG_TEST, i);
        float *to = exec_input(e, 0, names[i], NULL);
        for (int64_t k = 0; k < (i ? s->words : ROWS) * DEPTH; k++)
            to[k] = rng_normal(&r, (uint64_t)k);
    }
    int64_t *label = exec_input(e, 0, "label", NULL);
    for (int64_t k = 0; k < ROWS; k++)
        label[k] = k == 1 ? s->words - 1 : 200 * k;
    *(float *)exec_input(e, 0, "weight", NULL) = 0.5f;
    must(exec_run(e, 0, NULL, &err), &err);
}

static void compare(const scene *s, const char *name, exec *gpu, exec *cpu)
{
    const graph_value *v = NULL;
    double tolerance = s->precision == PRECISION_F32 ? 1e-5 : 5e-2;
    const float *same = exec_value(cpu, 0, name, &v), *got = exec_value(gpu, 0, name, NULL);
    size_t n = (size_t)graph_shape_elements(&v->shape);
    double *want = xcalloc(n, sizeof *want), square = 0.0;
    for (size_t i = 0; i < n; i++) {
        want[i] = (double)same[i];
        square += want[i] * want[i];
    }
    char what[96];
    snprintf(what, sizeof what, "%s of %d words in precision %d", name, (int)s->words,
             (int)s->precision);
    assert_floats_close(what, got, want, n, tolerance * sqrt(square / (double)n), tolerance);
    free(want);
}

/* The CPU computes in float32. Twice, so that what a run leaves behind shows. */
static void expect_the_cpus(const scene *s)
{
    scene exact = *s;
    graph_val scores, gradients;
    exact.precision = PRECISION_F32;
    graph *on_gpu = graph_of(s, &scores, &gradients),
          *on_cpu = graph_of(&exact, &scores, &gradients);
    exec *cpu = engine(&backend_cpu, on_cpu), *gpu = engine(&backend_cuda, on_gpu);
    for (int turn = 0; turn < 2; turn++) {
        run(s, cpu);
        run(s, gpu);
        compare(s, "loss", gpu, cpu);
        compare(s, "dw", gpu, cpu);
        compare(s, "dx", gpu, cpu);
    }
    exec_destroy(&cpu);
    exec_destroy(&gpu);
    graph_destroy(&on_cpu);
    graph_destroy(&on_gpu);
}

static void expect_pitch(const scene *s, int64_t pitch)
{
    error err = ERROR_INIT;
    graph_val scores, gradients;
    graph *g = graph_of(s, &scores, &gradients);
    bool halves = s->precision == PRECISION_BF16 || s->precision == PRECISION_F16;
    size_t bytes = halves && s->reader == NOBODY ? sizeof(uint16_t) : sizeof(float);
    backend *b = NULL;
    backend_program *p = NULL;
    must(backend_cuda.open(&(backend_options){0}, &b, &err), &err);
    must(backend_cuda.load(b, g, &p, &err), &err);
    assert_int_equal(backend_cuda.value_bytes(p, scores), (size_t)(ROWS * pitch) * bytes);
    assert_int_equal(backend_cuda.value_bytes(p, gradients), (size_t)(ROWS * pitch) * bytes);
    backend_cuda.unload(&p);
    backend_cuda.close(&b);
    graph_destroy(&g);
}

static const graph_precision precisions[] = {PRECISION_F32, PRECISION_TF32, PRECISION_BF16,
                                             PRECISION_F16};

static void test_rows_of_scores_begin_at_even_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(precisions); i++) {
        scene s = {UNEVEN, precisions[i], NOBODY};
        expect_pitch(&s, EVEN);
        expect_the_cpus(&s);
    }
}

static void test_by_our_own_matmuls(void **state)
{
    (void)state;
    fakes_hide(true);
    for (size_t i = 0; i < COUNT_OF(precisions); i++)
        expect_the_cpus(&(scene){UNEVEN, precisions[i], NOBODY});
    fakes_hide(false);
}

static void test_rows_that_are_even_stay(void **state)
{
    (void)state;
    expect_pitch(&(scene){EVEN, PRECISION_BF16, NOBODY}, EVEN);
    expect_pitch(&(scene){1028, PRECISION_F32, NOBODY}, 1028);
    expect_pitch(&(scene){1028, PRECISION_BF16, NOBODY}, EVEN);
    expect_pitch(&(scene){1001, PRECISION_BF16, NOBODY}, 1001);
}

static void test_rows_that_others_read_stay(void **state)
{
    (void)state;
    for (other_reader r = KEPT; r < READERS; r++) {
        scene s = {UNEVEN, PRECISION_F32, r};
        expect_pitch(&s, UNEVEN);
        expect_the_cpus(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_rows_of_scores_begin_at_even_places),
        KERNEL_TEST(test_by_our_own_matmuls),
        KERNEL_TEST(test_rows_that_are_even_stay),
        KERNEL_TEST(test_rows_that_others_read_stay),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
