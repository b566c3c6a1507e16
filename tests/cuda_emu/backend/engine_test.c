/*
 * The CUDA backend through the engine, over the emulation: what it computes, on the host again, is
 * bit for bit what the CPU computes; and what it has no kernels for.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "cuda_emu/backend/support_both.h"
#include "cuda_emu/machine.h"
#include "exec/exec.h"
#include "exec/variant.h"
#include "graph/attrs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 48 };

static graph_val input(graph *g, const char *name, int64_t n)
{
    error err = ERROR_INIT;
    graph_val v;
    must(graph_input(g, name, DT_F32, (graph_shape){1, {n}}, &v, &err), &err);
    return v;
}

static graph_val node(graph *g, graph_op op, const char *name, int32_t n_in, const graph_val *in,
                      const void *attr)
{
    error err = ERROR_INIT;
    graph_val v;
    must(graph_add_1(g, op, name, in, n_in, attr, &v, &err), &err);
    return v;
}

/* --- one element at a time --- */

static const struct {
    graph_op op;
    const char *name;
    int32_t n_in;
} unary[] = {
    {OP_NEG, "neg", 1},
#define SMOOTH(ID, name, ...) {OP_##ID, #name, 1}, {OP_##ID##_BWD, #name "_bwd", 2},
#define STEP(ID, name, ...)  {OP_##ID, #name, 1},
#include "graph/unary.def"
};

static void add_unary(graph *g, size_t i, bool tanh, const graph_val *in)
{
    static const unary_attr ordinary = {.alpha = 0.25f, .beta = 0.75f};
    const gelu_attr gelu = {.tanh = tanh};
    bool is_gelu = unary[i].op == OP_GELU || unary[i].op == OP_GELU_BWD;
    char name[NAME];
    snprintf(name, sizeof name, "%s%s", unary[i].name, tanh ? "_by_tanh" : "");
    bool has_attr = graph_op_of(unary[i].op)->attr_bytes != 0;
    const void *attr = is_gelu ? (const void *)&gelu : has_attr ? &ordinary : NULL;
    graph_keep(g, node(g, unary[i].op, name, unary[i].n_in, in, attr));
}

static graph *all_unary(int64_t n)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    must(graph_create(&g, &err), &err);
    graph_val in[] = {input(g, "a", n), input(g, "b", n)};
    for (size_t i = 0; i < COUNT_OF(unary); i++) {
        add_unary(g, i, false, in);
        if (unary[i].op == OP_GELU || unary[i].op == OP_GELU_BWD)
            add_unary(g, i, true, in);
    }
    return g;
}

static void feed(exec *e, int64_t n)
{
    static const float special[] = {0.0f,
                                    -0.0f,
                                    1.0f,
                                    -1.0f,
                                    0x1p-140f,
                                    88.8f,
                                    -104.0f,
                                    1e30f,
                                    -1e30f,
                                    __builtin_inff(),
                                    -__builtin_inff()};
    float *a = exec_input(e, 0, "a", NULL), *b = exec_input(e, 0, "b", NULL);
    rng r = rng_make(7, RNG_TEST, 0);
    for (int64_t i = 0; i < n; i++) {
        a[i] = 3.0f * rng_normal(&r, (uint64_t)(2 * i));
        b[i] = 3.0f * rng_normal(&r, (uint64_t)(2 * i + 1));
        if (i % 3 == 2)
            a[i] = special[i / 3 % (int64_t)COUNT_OF(special)];
        if (i % 3 == 1)
            b[i] = special[i / 3 % (int64_t)COUNT_OF(special)];
    }
}

/* Any NaN is as good as another. */
static void expect_same(const char *name, const float *x, const float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&x[i], &y[i], sizeof *x) != 0 && !(x[i] != x[i] && y[i] != y[i]))
            fail_msg("%s, element %lld of %lld: %a and not %a", name, (long long)i, (long long)n,
                     (double)x[i], (double)y[i]);
}

static void test_one_element_at_a_time_is_as_on_the_cpu(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 4, 7, 1024, 1030};
    error err = ERROR_INIT;
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        graph *g = all_unary(sizes[k]);
        exec *cpu = both_engine(&backend_cpu, g, NULL), *gpu = both_engine(&backend_cuda, g, NULL);
        feed(cpu, sizes[k]);
        feed(gpu, sizes[k]);
        must(exec_run(cpu, 0, NULL, &err), &err);
        must(exec_run(gpu, 0, NULL, &err), &err);
        for (int32_t i = 0; i < graph_n_nodes(g); i++) {
            const char *name = graph_value_at(g, graph_node_at(g, i)->out[0])->name;
            expect_same(name, exec_value(gpu, 0, name, NULL), exec_value(cpu, 0, name, NULL),
                        sizes[k]);
        }
        exec_destroy(&cpu);
        exec_destroy(&gpu);
        graph_destroy(&g);
    }
}

/* --- constants --- */

static void test_constants_are_where_the_kernels_are(void **state)
{
    (void)state;
    enum { N = 7 };
    static const float factors[N] = {1, -2, 0.5f, 3e30f, -0.0f, 0x1p-140f, 7};
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val in[2];
    must(graph_create(&g, &err), &err);
    in[0] = input(g, "a", N);
    must(graph_const(g, "factors", DT_F32, (graph_shape){1, {N}}, factors, &in[1], &err), &err);
    graph_keep(g, node(g, OP_MUL, "y", 2, in, NULL));
    exec *cpu = both_engine(&backend_cpu, g, NULL), *gpu = both_engine(&backend_cuda, g, NULL);
    exec *engines[] = {cpu, gpu};
    for (size_t i = 0; i < COUNT_OF(engines); i++) {
        float *a = exec_input(engines[i], 0, "a", NULL);
        for (int k = 0; k < N; k++)
            a[k] = 1.5f * (float)(k + 1);
        must(exec_run(engines[i], 0, NULL, &err), &err);
    }
    expect_same("y", exec_value(gpu, 0, "y", NULL), exec_value(cpu, 0, "y", NULL), N);
    exec_destroy(&cpu);
    exec_destroy(&gpu);
    graph_destroy(&g);
}

/* --- a step --- */

typedef struct step {
    float *weights;
    float gradient;
    int n_needed, n_ready;
    int64_t edition;
} step;

static status give(void *user, int32_t part, int64_t *ret_edition, error *err)
{
    (void)part, (void)err;
    step *s = user;
    s->n_needed++;
    *ret_edition = s->edition;
    return OK;
}

static status take(void *user, int32_t part, const float *grad, error *err)
{
    (void)part, (void)err;
    step *s = user;
    s->n_ready++;
    s->gradient = grad[0];
    return OK;
}

/* The loss is -exp(w), so that is its gradient too. */
static graph *falling(flat **ret_flat)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    tensor_decl decl = {.name = "w", .rank = 1, .dim = {1}, .kind = TENSOR_TRAINABLE};
    graph_val w, weight;
    must(graph_create(&g, &err), &err);
    must(graph_param(g, &decl, &w, &err), &err);
    graph_val y = node(g, OP_EXP, "exp", 1, &w, NULL);
    y = node(g, OP_NEG, "neg", 1, &y, NULL);
    y = node(g, OP_RESHAPE, "loss", 1, &y, &(shape_attr){.shape = {.rank = 0}});
    graph_keep(g, y);
    must(graph_input(g, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err), &err);
    must(graph_backward(g, y, weight, &err), &err);
    must(flat_create(&decl, 1, ret_flat, &err), &err);
    return g;
}

static void take_steps(void)
{
    error err = ERROR_INIT;
    flat *f = NULL;
    graph *g = falling(&f);
    step cpu = {0}, gpu = {0};
    float weights[64] = {0.5f}; /* a tensor's room */
    step *steps[] = {&cpu, &gpu};
    exec *engines[] = {both_engine(&backend_cpu, g, f), both_engine(&backend_cuda, g, f)};
    uint64_t waits = emu_pageable_copies(), allocations = 0;
    for (int turn = 0; turn < 3; turn++) {
        weights[0] = 0.5f + (float)turn;
        if (turn == 1)
            allocations = emu_allocations();
        for (int i = 0; i < 2; i++) {
            exec_bind_params(engines[i], weights);
            *(float *)exec_input(engines[i], 0, "weight", NULL) = 0.25f;
            exec_hooks hooks = {.need = give, .ready = take, .user = steps[i]};
            must(exec_run(engines[i], 0, &hooks, &err), &err);
        }
        const float *loss[] = {exec_value(engines[0], 0, "loss", NULL),
                               exec_value(engines[1], 0, "loss", NULL)};
        assert_true(*loss[0] == *loss[1] && *loss[0] < -1.0f);
        assert_true(cpu.gradient == gpu.gradient && gpu.gradient == 0.25f * *loss[1]);
    }
    assert_int_equal(emu_pageable_copies(), waits);
    assert_int_equal(emu_allocations(), allocations);
    assert_int_equal(gpu.n_needed, 3);
    assert_int_equal(gpu.n_ready, 3);
    exec_destroy(&engines[0]);
    exec_destroy(&engines[1]);
    flat_destroy(&f);
    graph_destroy(&g);
}

static void test_a_step_takes_weights_and_gives_gradients(void **state)
{
    (void)state;
    take_steps();
}

static void test_a_step_without_graphs_is_the_same(void **state)
{
    (void)state;
    setenv("TEQUIO_CUDA_GRAPHS", "0", 1);
    take_steps();
    unsetenv("TEQUIO_CUDA_GRAPHS");
}

/* More with every run, and never more than a run takes; not where kernels run one by one. */
static void test_a_timed_engine_tells_how_long_it_was_busy(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    flat *f = NULL;
    graph *g = falling(&f);
    float weights[64] = {0.5f};
    for (int timed = 0; timed < 3; timed++) {
        exec *e = NULL;
        setenv("TEQUIO_CUDA_GRAPHS", timed == 2 ? "0" : "1", 1);
        must(exec_create(&(exec_options){.backend = &backend_cuda,
                                         .device = {.threads = 1},
                                         .flat = f,
                                         .graphs = (const graph *const[]){g},
                                         .n_graphs = 1,
                                         .timed = timed},
                         &e, &err),
             &err);
        exec_bind_params(e, weights);
        double before = exec_busy_ms(e);
        assert_true(before == (timed == 1 ? 0 : -1));
        for (int turn = 0; turn < 3; turn++) {
            int64_t begin = clock_us();
            must(exec_run(e, 0, NULL, &err), &err);
            double now = exec_busy_ms(e), took = (double)(clock_us() + 1 - begin) * 1e-3;
            assert_true(timed == 1 ? now > before && now - before <= took : now < 0);
            before = now;
        }
        exec_destroy(&e);
    }
    unsetenv("TEQUIO_CUDA_GRAPHS");
    flat_destroy(&f);
    graph_destroy(&g);
}

/* --- traced runs --- */

typedef struct told_run {
    int32_t node[32];
    int64_t begin[32], end[32];
    int n, n_runs;
    int64_t first, last, error_ns;
} told_run;

static void tell_node(void *user, int32_t node, int64_t begin_ns, int64_t end_ns)
{
    told_run *t = user;
    t->node[t->n] = node;
    t->begin[t->n] = begin_ns;
    t->end[t->n++] = end_ns;
}

static void tell_device(void *user, int64_t begin_ns, int64_t end_ns, int64_t error_ns)
{
    told_run *t = user;
    t->n_runs++;
    t->first = begin_ns;
    t->last = end_ns;
    t->error_ns = error_ns;
}

static exec *tracing_engine(const graph *g, const flat *f, const float *weights)
{
    exec *e = NULL;
    error err = ERROR_INIT;
    must(exec_create(&(exec_options){.backend = &backend_cuda,
                                     .device = {.threads = 1},
                                     .flat = f,
                                     .graphs = &g,
                                     .n_graphs = 1,
                                     .traces = true},
                     &e, &err),
         &err);
    exec_bind_params(e, weights);
    *(float *)exec_input(e, 0, "weight", NULL) = 0.25f;
    return e;
}

/* Every node that has a kernel, one after the other, while the host waited for the run. */
static void check_told(const told_run *t, const exec *e, int64_t begin_ns, int64_t end_ns)
{
    const variant *v = exec_variant(e, 0);
    int n = 0;
    for (int32_t node = 0; node < graph_n_nodes(v->graph); node++)
        if (v->kernels[node].run)
            assert_int_equal(t->node[n++], node);
    assert_true(n > 2 && t->n == n);
    for (int i = 0; i < n; i++) {
        assert_true(t->begin[i] <= t->end[i]);
        assert_true(t->begin[i] >= (i ? t->end[i - 1] : begin_ns));
    }
    assert_true(t->end[n - 1] <= end_ns);
    assert_true(t->n_runs == 1 && t->first == t->begin[0] && t->last == t->end[n - 1]);
    assert_true(t->error_ns >= 0 && 2 * t->error_ns <= end_ns - begin_ns);
}

/* A run that is traced passes two moments a kernel, and two of its own; any other run none, and no more pieces than
 * that. */
static void trace_every_second_run(bool graphs)
{
    error err = ERROR_INIT;
    flat *f = NULL;
    graph *g = falling(&f);
    float weights[64] = {0.5f}, loss = 0;
    setenv("TEQUIO_CUDA_GRAPHS", graphs ? "1" : "0", 1);
    exec *e = tracing_engine(g, f, weights);
    uint64_t launches = 0;
    for (int turn = 0; turn < 4; turn++) {
        told_run t = {.n = 0};
        const exec_trace trace = {.device_node = tell_node, .device = tell_device, .user = &t};
        const exec_hooks hooks = {.trace = turn % 2 ? &trace : NULL};
        uint64_t stamps = emu_event_stamps(), before = emu_graph_launches();
        int64_t begin = clock_ns();
        must(exec_run(e, 0, &hooks, &err), &err);
        if (turn % 2)
            check_told(&t, e, begin, clock_ns());
        assert_int_equal(emu_event_stamps() - stamps, turn % 2 ? 2 * t.n + 2 : 0);
        assert_true(turn == 0 || emu_graph_launches() - before == launches);
        assert_true(turn == 0 || loss == *(const float *)exec_value(e, 0, "loss", NULL));
        launches = emu_graph_launches() - before;
        loss = *(const float *)exec_value(e, 0, "loss", NULL);
    }
    assert_true(graphs == (launches > 0));
    exec_destroy(&e);
    unsetenv("TEQUIO_CUDA_GRAPHS");
    flat_destroy(&f);
    graph_destroy(&g);
}

static void test_traced_runs_tell_when_nodes_ran(void **state)
{
    (void)state;
    trace_every_second_run(true);
    trace_every_second_run(false);
}

/* --- sums over slots --- */

enum { SLOTS = 7 };

/* The loss is about -1.65, and so is the gradient of a slot of weight 1. */
static float weight_of(uint32_t slot)
{
    static const float weights[SLOTS] = {0.1f, 1e6f, 0.3f, -1e6f, 1e-3f, 7.7f, 0.9f};
    return weights[slot];
}

/* What a node is worth by the rule of common/parts/tree.h. */
static float node_sum(tree_node a, float loss)
{
    if (a.level == 0)
        return weight_of(a.index) * loss;
    tree_node left = {(uint8_t)(a.level - 1), 2 * a.index}, right = tree_node_sibling(left);
    float sum = node_sum(left, loss);
    return tree_node_first(right) < SLOTS ? sum + node_sum(right, loss) : sum;
}

static status take_whole(void *user, int32_t part, const float *grad, error *err)
{
    (void)part, (void)err;
    step *s = user;
    s->n_ready += grad != NULL;
    if (grad)
        s->gradient = grad[0];
    return OK;
}

static void add_up_in_nodes_up_to(exec *e, uint32_t first, uint8_t level)
{
    error err = ERROR_INIT;
    assert_int_equal(exec_keep_sums(e, level), level);
    exec_slot s = {.slot = first, .n_slots = SLOTS};
    while (s.slot < SLOTS) {
        step taken = {0};
        s.sum = tree_node_top((tree_node){level, s.slot >> level}, SLOTS);
        for (; s.slot < tree_node_end(s.sum, SLOTS); s.slot++) {
            assert_int_equal(taken.n_ready, 0);
            *(float *)exec_input(e, 0, "weight", NULL) = weight_of(s.slot);
            exec_hooks hooks = {.ready = take_whole, .slot = &s, .user = &taken};
            must(exec_run(e, 0, &hooks, &err), &err);
        }
        assert_int_equal(taken.n_ready, 1);
        float want = node_sum(s.sum, *(const float *)exec_value(e, 0, "loss", NULL));
        assert_memory_equal(&taken.gradient, &want, sizeof want);
    }
}

static void test_gradients_are_added_up_as_in_the_tree_of_slots(void **state)
{
    (void)state;
    flat *f = NULL;
    graph *g = falling(&f);
    exec *e = both_engine(&backend_cuda, g, f);
    float weights[64] = {0.5f};
    exec_bind_params(e, weights);
    for (uint8_t level = 0; level <= 3; level++)
        add_up_in_nodes_up_to(e, 0, level);
    add_up_in_nodes_up_to(e, 4, 1);
    exec_destroy(&e);
    flat_destroy(&f);
    graph_destroy(&g);
}

/* --- bad data --- */

/* The first one is told; a label that is ignored is none. */
static void test_a_label_that_is_no_class_is_named(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val in[2], loss[3];
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "scores", DT_F32, (graph_shape){2, {6, 4}}, &in[0], &err), &err);
    must(graph_input(g, "labels", DT_I64, (graph_shape){1, {6}}, &in[1], &err), &err);
    must(graph_add(g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, "loss", in, 2,
                   &(sce_attr){.has_ignore_index = true, .ignore_index = -100}, loss, &err),
         &err);
    graph_keep(g, loss[0]);
    exec *gpu = both_engine(&backend_cuda, g, NULL);
    static const int64_t bad[] = {4, -1, INT64_MAX, INT64_MIN};
    int64_t *labels = exec_input(gpu, 0, "labels", NULL);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        memcpy(labels, (const int64_t[]){0, -100, 3, bad[i], bad[i], 1}, 6 * sizeof *labels);
        assert_int_equal(exec_run(gpu, 0, NULL, &err), E_DATA);
        assert_string_equal(err.text, "loss: number 3 of 'labels' is outside 0..3");
        error_clear(&err);
    }
    labels[3] = labels[4] = 2;
    must(exec_run(gpu, 0, NULL, &err), &err);
    exec_destroy(&gpu);
    graph_destroy(&g);
}

/* --- refusals --- */

static void test_all_nodes_without_a_kernel_are_named(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    graph *g = NULL;
    exec *e = NULL;
    graph_val d;
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "d", DT_F64, (graph_shape){1, {4}}, &d, &err), &err);
    graph_val x = input(g, "x", 4), y = node(g, OP_RELU, "double", 1, &d, NULL);
    graph_keep(g, node(g, OP_TANH, "fine", 1, &x, NULL));
    graph_keep(g, node(g, OP_TANH, "behind", 1, &y, NULL));
    exec_options o = {.backend = &backend_cuda, .graphs = (const graph *const[]){g}, .n_graphs = 1};
    assert_int_equal(exec_create(&o, &e, &err), E_UNSUPPORTED);
    assert_string_equal(err.text, "the GPU has no kernel for double (Relu): it makes float64; the "
                                  "only floating type known is float32; behind (Tanh): it makes "
                                  "float64; the only floating type known is float32");
    assert_null(e);
    graph_destroy(&g);
}

static void test_a_gpu_that_is_not_there_is_refused(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    backend *b = NULL;
    backend_device d;
    assert_int_equal(backend_cuda.open(&(backend_options){.device = 99}, &b, &err), E_DEVICE);
    assert_null(b);
    assert_ptr_equal(strstr(err.text, "there is no GPU number 99: there are "), err.text);
    error_clear(&err);
    assert_int_equal(backend_cuda.describe(99, &d, &err), E_DEVICE);
    must(backend_cuda.describe(0, &d, NULL), &err);
    assert_true(d.free > 0 && d.free <= d.memory);
    assert_ptr_equal(strstr(d.arch, "sm_"), d.arch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_one_element_at_a_time_is_as_on_the_cpu),
        KERNEL_TEST(test_constants_are_where_the_kernels_are),
        KERNEL_TEST(test_a_step_takes_weights_and_gives_gradients),
        KERNEL_TEST(test_a_step_without_graphs_is_the_same),
        KERNEL_TEST(test_a_timed_engine_tells_how_long_it_was_busy),
        KERNEL_TEST(test_traced_runs_tell_when_nodes_ran),
        KERNEL_TEST(test_gradients_are_added_up_as_in_the_tree_of_slots),
        KERNEL_TEST(test_a_label_that_is_no_class_is_named),
        KERNEL_TEST(test_all_nodes_without_a_kernel_are_named),
        KERNEL_TEST(test_a_gpu_that_is_not_there_is_refused),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
