/*
 * Attention and its gradient on the CUDA backend against the CPU's, in every precision: every form of
 * operands, masks, heads that share keys, dropout of the same bits; by cuDNN, as it is played, where
 * that is for it.
 */
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/planners/support_engine.h"
#include "cuda_emu/kernel_test.h"
#include "cuda_emu/machine.h"

#include "backend/cuda/cuda.h"
#include "backend/cuda/library/dnn_attention.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "graph/attrs.h"
#include "graph/precision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { Q, K, V, MASK, BATCH_ID, OPERANDS };

typedef struct form {
    const char *name;
    attention_attr attr;
    graph_shape in[MASK + 1]; /* rank 0: absent */
    bool mask_chooses;
    int by_dnn; /* of halves: in how many ways, forward and backward */
    bool inside; /* what is made is a temporary, and y is its own gradient */
} form;

static const form forms[] = {
    {.name = "side by side",
     .attr = {.q_heads = 3},
     .in = {{3, {2, 5, 12}}, {3, {2, 7, 12}}, {3, {2, 7, 12}}, {4, {2, 1, 1, 7}}},
     .mask_chooses = true},
    {.name = "shared keys",
     .attr = {.causal = true},
     .in = {{4, {2, 4, 6, 8}}, {4, {2, 2, 6, 8}}, {4, {2, 2, 6, 8}}},
     .by_dnn = 2},
    {.name = "packed, dropout",
     .attr = {.q_heads = 2, .causal = true, .ratio = 0.5f, .seed = 8, .stream = 1},
     .in = {{3, {2, 70, 12}}}},
    {.name = "packed, shared keys", .attr = {.q_heads = 4, .kv_heads = 2}, .in = {{3, {1, 6, 32}}}},
    {.name = "a mask of floats by head",
     .attr = {.scale = 0.3f},
     .in = {{4, {2, 3, 6, 4}}, {4, {2, 3, 7, 4}}, {4, {2, 3, 7, 6}}, {3, {3, 6, 7}}}},
    {.name = "keys of the past",
     .attr = {.causal = true, .past = 2},
     .in = {{4, {2, 1, 5, 16}}, {4, {2, 1, 7, 16}}, {4, {2, 1, 7, 8}}}},
    {.name = "other lengths",
     .attr = {.q_heads = 3, .scale = 0.3f},
     .in = {{3, {2, 5, 24}}, {3, {2, 7, 24}}, {3, {2, 7, 48}}},
     .by_dnn = 2},
    {.name = "packed, causal",
     .attr = {.q_heads = 2, .causal = true},
     .in = {{3, {1, 70, 48}}},
     .by_dnn = 2},
    {.name = "packed, shared keys of eight numbers",
     .attr = {.q_heads = 4, .kv_heads = 2},
     .in = {{3, {1, 6, 64}}},
     .by_dnn = 2},
    {.name = "more queries than keys",
     .attr = {.causal = true},
     .in = {{4, {2, 1, 9, 16}}, {4, {2, 1, 5, 16}}, {4, {2, 1, 5, 8}}},
     .by_dnn = 2},
    {.name = "bools of keys",
     .attr = {.q_heads = 2},
     .in = {{3, {2, 5, 16}}, {3, {2, 7, 16}}, {3, {2, 7, 16}}, {4, {2, 1, 1, 7}}},
     .mask_chooses = true,
     .by_dnn = 2},
    {.name = "bools of all, shared keys",
     .attr = {.causal = true},
     .in = {{4, {2, 2, 6, 8}}, {4, {2, 1, 6, 8}}, {4, {2, 1, 6, 8}}, {4, {2, 2, 6, 6}}},
     .mask_chooses = true,
     .by_dnn = 2,
     .inside = true},
    {.name = "floats of queries", /* which have no gradient */
     .attr = {.q_heads = 2},
     .in = {{3, {2, 5, 16}}, {3, {2, 7, 16}}, {3, {2, 7, 16}}, {4, {2, 1, 5, 1}}},
     .by_dnn = 2},
    {.name = "floats by head, of a gradient",
     .attr = {.scale = 0.3f},
     .in = {{4, {1, 2, 6, 8}}, {4, {1, 2, 7, 8}}, {4, {1, 2, 7, 16}}, {3, {2, 6, 7}}},
     .by_dnn = 1},
    {.name = "half a tile of keys, masked",
     .attr = {.q_heads = 1},
     .in = {{3, {1, 3, 8}}, {3, {1, 64, 8}}, {3, {1, 64, 8}}, {4, {1, 1, 1, 64}}},
     .mask_chooses = true,
     .by_dnn = 1},
    {.name = "one query",
     .attr = {.q_heads = 1},
     .in = {{3, {1, 1, 8}}, {3, {1, 7, 8}}, {3, {1, 7, 8}}},
     .by_dnn = 1},
    {.name = "dropout",
     .attr = {.q_heads = 2, .causal = true, .ratio = 0.5f, .seed = 8, .stream = 1},
     .in = {{3, {2, 7, 48}}}},
    {.name = "heads of 256",
     .attr = {.q_heads = 1},
     .in = {{3, {1, 2, 256}}, {3, {1, 3, 256}}, {3, {1, 3, 256}}},
     .by_dnn = 2},
    {.name = "between others",
     .attr = {.q_heads = 2},
     .in = {{3, {2, 6, 32}}, {3, {2, 7, 32}}, {3, {2, 7, 32}}},
     .by_dnn = 2,
     .inside = true},
    {.name = "packed, between others",
     .attr = {.q_heads = 2, .causal = true},
     .in = {{3, {2, 7, 48}}},
     .by_dnn = 2,
     .inside = true},
};

static const form *const fits = &forms[COUNT_OF(forms) - 1]; /* cuDNN */

static graph_val input(graph *g, const char *name, dtype t, graph_shape shape)
{
    error err = ERROR_INIT;
    graph_val v;
    must(graph_input(g, name, t, shape, &v, &err), &err);
    return v;
}

/* An operand as it is multiplied; GRAPH_NONE if the form has none. */
static graph_val factor(graph *g, const form *f, int i, const char *name, dtype type)
{
    error err = ERROR_INIT;
    if (f->in[i].rank == 0)
        return GRAPH_NONE;
    graph_val v = input(g, name, DT_F32, f->in[i]);
    if (type != DT_F32)
        must(graph_add_1(g, OP_TO_HALF, NULL, &v, 1, &(cast_attr){.to = type}, &v, &err), &err);
    return v;
}

static void keep(graph *g, const form *f, const char *name, graph_val v)
{
    error err = ERROR_INIT;
    if (f->inside)
        must(graph_add_1(g, OP_NEG, name, &v, 1, NULL, &v, &err), &err);
    graph_keep(g, v);
}

/* Attention and, of inputs dy, its gradient. */
static graph *graph_of(const form *f, graph_precision p)
{
    error err = ERROR_INIT;
    dtype type = p == PRECISION_BF16 ? DT_BF16 : p == PRECISION_F16 ? DT_F16 : DT_F32;
    graph *g = NULL;
    graph_val y[2], gradients[4];
    must(graph_create(&g, &err), &err);
    const graph_val in[OPERANDS] = {
        factor(g, f, Q, "q", type),
        factor(g, f, K, "k", type),
        factor(g, f, V, "v", type),
        f->in[MASK].rank ? input(g, "mask", f->mask_chooses ? DT_BOOL : DT_F32, f->in[MASK])
                         : GRAPH_NONE,
        f->attr.ratio > 0.0f ? input(g, "id", DT_I64, (graph_shape){1, {1}}) : GRAPH_NONE,
    };
    must(graph_add(g, OP_ATTENTION, "y", in, OPERANDS, &f->attr, y, &err), &err);
    graph_val dy = f->inside ? y[0] : input(g, "dy", DT_F32, graph_value_at(g, y[0])->shape);
    const graph_val back[] = {dy, y[0], y[1], in[Q], in[K], in[V], in[MASK], in[BATCH_ID]};
    must(graph_add(g, OP_ATTENTION_BWD, "gradients", back, COUNT_OF(back), &f->attr, gradients,
                   &err),
         &err);
    static const char *const names[] = {"kept.q", "kept.k", "kept.v", "kept.mask"};
    keep(g, f, "kept.y", y[0]);
    for (int i = 0; i < 4; i++)
        if (gradients[i] != GRAPH_NONE)
            keep(g, f, names[i], gradients[i]);
    if (p == PRECISION_TF32)
        must(graph_set_precision(g, p, &err), &err);
    return g;
}

static void feed(exec *e, const graph *g)
{
    uint64_t n_inputs = 0;
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_INPUT)
            continue;
        rng r = rng_make(7, RNG_TEST, n_inputs++);
        void *to = exec_input(e, 0, value->name, NULL);
        for (int64_t i = 0; i < graph_shape_elements(&value->shape); i++)
            if (value->dtype == DT_F32)
                ((float *)to)[i] = rng_normal(&r, (uint64_t)i);
            else if (value->dtype == DT_BOOL)
                ((uint8_t *)to)[i] = rng_u32(&r, (uint64_t)i) % 3 != 0;
            else
                ((int64_t *)to)[i] = 5;
    }
}

/* Probabilities are rounded in other places of a sum on the two, and what cuDNN makes is, so in
 * halves they are further apart. */
static void compare(const form *f, graph_precision p, const char *name, int64_t n, exec *gpu,
                    exec *cpu)
{
    const float *got = exec_value(gpu, 0, name, NULL), *same = exec_value(cpu, 0, name, NULL);
    double tolerance = p == PRECISION_F32 ? 1e-5 : 2e-2, *want = xcalloc((size_t)n, sizeof *want);
    char what[96];
    for (int64_t i = 0; i < n; i++)
        want[i] = (double)same[i];
    snprintf(what, sizeof what, "%s: %s in precision %d", f->name, name, p);
    assert_floats_close(what, got, want, (size_t)n, tolerance, tolerance);
    free(want);
}

/* The CPU computes in float32 instead of float16. Returns how often cuDNN was called. */
static uint64_t play(const form *f, graph_precision p)
{
    error err = ERROR_INIT;
    graph *g = graph_of(f, p), *h = graph_of(f, p == PRECISION_F16 ? PRECISION_F32 : p);
    uint64_t before = fake_dnn_runs();
    exec *cpu = engine(&backend_cpu, h), *gpu = engine(&backend_cuda, g);
    feed(cpu, h);
    feed(gpu, g);
    must(exec_run(cpu, 0, NULL, &err), &err);
    must(exec_run(gpu, 0, NULL, &err), &err);
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->keep)
            compare(f, p, value->name, graph_shape_elements(&value->shape), gpu, cpu);
    }
    exec_destroy(&cpu);
    exec_destroy(&gpu);
    graph_destroy(&g);
    graph_destroy(&h);
    return fake_dnn_runs() - before;
}

static void test_floats(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        assert_int_equal(play(&forms[i], PRECISION_F32), 0);
}

static void test_tf32(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        assert_int_equal(play(&forms[i], PRECISION_TF32), 0);
}

/* Forward and, on Hopper, backward; each once to begin with, and once to be recorded. */
static void play_halves(graph_precision p)
{
    int most = emu_arch() < 90 ? 0 : emu_arch() < 100 ? 2 : 1;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        int ways = forms[i].by_dnn < most ? forms[i].by_dnn : most;
        assert_int_equal(play(&forms[i], p), 2 * ways);
    }
}

static void test_bfloats(void **state)
{
    (void)state;
    play_halves(PRECISION_BF16);
}

static void test_float16(void **state)
{
    (void)state;
    play_halves(PRECISION_F16);
}

static void test_without_a_library(void **state)
{
    (void)state;
    fakes_hide(true);
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (forms[i].by_dnn)
            assert_int_equal(play(&forms[i], PRECISION_BF16), 0);
    fakes_hide(false);
}

static void test_where_the_library_has_no_engine(void **state)
{
    (void)state;
    fake_dnn_refuse(true);
    assert_int_equal(play(fits, PRECISION_BF16), 0);
    fake_dnn_refuse(false);
}

/* Four of a batch, of which the workspace has room for the scores of two: each run is of a half. */
static const form large[] = {
    {.name = "packed, a part at a time",
     .attr = {.q_heads = 2, .causal = true},
     .in = {{3, {4, 10, 48}}}},
    {.name = "bools of keys, a part at a time",
     .attr = {.q_heads = 2},
     .in = {{3, {4, 10, 16}}, {3, {4, 10, 16}}, {3, {4, 10, 16}}, {4, {4, 1, 1, 10}}},
     .mask_chooses = true},
    {.name = "floats of queries, a part at a time",
     .in = {{4, {4, 2, 10, 8}}, {4, {4, 2, 10, 8}}, {4, {4, 2, 10, 16}}, {4, {1, 1, 10, 1}}},
     .inside = true},
};

static void test_more_than_the_workspace_holds_is_a_part_at_a_time(void **state)
{
    (void)state;
    int64_t most = dnn_attention_scratch_most;
    dnn_attention_scratch_most = 2 * 2 * 64 * 128 * sizeof(uint16_t);
    for (size_t i = 0; i < COUNT_OF(large); i++) {
        int runs = emu_arch() < 90 ? 0 : emu_arch() < 100 ? 1 + 2 : 1;
        assert_int_equal(play(&large[i], PRECISION_BF16), 2 * runs);
    }
    dnn_attention_scratch_most = most;
}

/* The log-sum-exps and the mask lie as floats, so not every part of a batch begins at 16 bytes. */
static const form odd[] = {
    {.name = "two heads of five rows, of which three fit and two are aligned",
     .attr = {.q_heads = 2, .causal = true},
     .in = {{3, {6, 5, 48}}},
     .by_dnn = 3},
    {.name = "three heads of five rows", .attr = {.q_heads = 3, .causal = true}, .in = {{3, {6, 5, 72}}}},
    {.name = "bools of seven keys",
     .attr = {.q_heads = 2},
     .in = {{3, {6, 10, 16}}, {3, {6, 7, 16}}, {3, {6, 7, 16}}, {4, {6, 1, 1, 7}}},
     .mask_chooses = true},
};

static void test_parts_begin_where_the_library_reads(void **state)
{
    (void)state;
    int64_t most = dnn_attention_scratch_most;
    dnn_attention_scratch_most = 3 * 3 * 64 * 128 * sizeof(uint16_t);
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        int runs = emu_arch() < 90 ? 0 : emu_arch() < 100 ? 1 + odd[i].by_dnn : 1;
        assert_int_equal(play(&odd[i], PRECISION_BF16), 2 * runs);
    }
    dnn_attention_scratch_most = most;
}

/* One of a batch alone is too much. */
static void test_more_than_the_workspace_ever_holds_is_ours(void **state)
{
    (void)state;
    int64_t most = dnn_attention_scratch_most;
    dnn_attention_scratch_most = 2 * 64 * 128;
    assert_int_equal(play(&large[0], PRECISION_BF16), emu_arch() < 90 ? 0 : 2);
    dnn_attention_scratch_most = most;
}

static void test_a_library_that_cannot_be_opened_is_told_of(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    graph *g = graph_of(fits, PRECISION_BF16);
    exec *e = NULL;
    exec_options o = {.backend = &backend_cuda, .graphs = (const graph *const[]){g}, .n_graphs = 1};
    fake_dnn_fail(true);
    assert_int_equal(exec_create(&o, &e, &err), E_DEVICE);
    fake_dnn_fail(false);
    assert_string_equal(err.text, "y: cuDNN, opening it (TEQUIO_CUDA_LIBRARIES=none does without): "
                                  "CUDNN_STATUS_NOT_INITIALIZED");
    graph_destroy(&g);
}

/* Numbers by query have no gradient; those by key have one. */
static const form dropped[] = {
    {.name = "bools",
     .attr = {.ratio = 0.25f},
     .in = {{4, {2, 2, 5, 8}}, {4, {2, 2, 7, 8}}, {4, {2, 2, 7, 8}}, {4, {2, 1, 1, 7}}},
     .mask_chooses = true,
     .by_dnn = 2},
    {.name = "floats by query",
     .attr = {.ratio = 0.25f},
     .in = {{4, {2, 2, 5, 8}}, {4, {2, 2, 7, 8}}, {4, {2, 2, 7, 8}}, {4, {1, 1, 5, 1}}},
     .by_dnn = 2},
    {.name = "floats by key",
     .attr = {.ratio = 0.25f},
     .in = {{4, {2, 2, 5, 8}}, {4, {2, 2, 7, 8}}, {4, {2, 2, 7, 8}}, {4, {1, 1, 1, 7}}}},
};

/* Returns how often cuDNN was called. */
static uint64_t play_dropped(const form *f, bool allowed)
{
    error err = ERROR_INIT;
    graph *g = graph_of(f, PRECISION_F16);
    uint64_t before = fake_dnn_runs();
    if (allowed)
        graph_allow_library_dropout(g);
    exec *e = engine(&backend_cuda, g);
    feed(e, g);
    must(exec_run(e, 0, NULL, &err), &err);
    exec_destroy(&e);
    graph_destroy(&g);
    return fake_dnn_runs() - before;
}

/* Where cuDNN does it both ways, or else not at all; the numbers are attention_halves_test's. */
static void test_dropout_of_the_library(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(dropped); i++) {
        assert_int_equal(play_dropped(&dropped[i], false), 0);
        assert_int_equal(play_dropped(&dropped[i], true), emu_arch() == 90 ? 2 * dropped[i].by_dnn : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_floats),
        KERNEL_TEST(test_tf32),
        KERNEL_TEST(test_bfloats),
        KERNEL_TEST(test_float16),
        KERNEL_TEST(test_without_a_library),
        KERNEL_TEST(test_dropout_of_the_library),
        KERNEL_TEST(test_more_than_the_workspace_holds_is_a_part_at_a_time),
        KERNEL_TEST(test_parts_begin_where_the_library_reads),
        KERNEL_TEST(test_more_than_the_workspace_ever_holds_is_ours),
        KERNEL_TEST(test_where_the_library_has_no_engine),
        KERNEL_TEST(test_a_library_that_cannot_be_opened_is_told_of),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
