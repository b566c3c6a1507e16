/* Graphs of cuDNN that are alike are planned once, and each computes with its own operands. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/error.h"
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/planners/support_engine.h"
#include "graph/attrs.h"
#include "support/window_attrs.h"

enum { BATCH = 2, CHANNELS = 8, SIDE = 5, CONVOLUTIONS = 3 };

static const char *const weights[] = {"w0", "w1"};
static const char *const results[CONVOLUTIONS] = {"y0", "y1", "y2"};

/* The first n of: x with two weights, and with the first of them in other steps. */
static graph *build(int n)
{
    static const conv_attr plain = CONV_ATTR(), stepping = CONV_ATTR(.strides = {1, 2, 2});
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val in[3], y;
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "x", DT_F32, (graph_shape){4, {BATCH, CHANNELS, SIDE, SIDE}}, &in[0], &err),
         &err);
    for (int i = 0; i < 2; i++)
        must(graph_input(g, weights[i], DT_F32, (graph_shape){4, {CHANNELS, CHANNELS, 3, 3}},
                         &in[1 + i], &err),
             &err);
    for (int i = 0; i < n; i++) {
        const graph_val of[] = {in[0], in[1 + i % 2]};
        must(graph_add_1(g, OP_CONV, results[i], of, 2, i == 2 ? &stepping : &plain, &y, &err),
             &err);
        graph_keep(g, y);
    }
    return g;
}

/* Whole numbers, so that sums are exact. */
static void feed(exec *e)
{
    static const char *const names[] = {"x", "w0", "w1"};
    for (int i = 0; i < 3; i++) {
        const graph_value *v = NULL;
        float *to = exec_input(e, 0, names[i], &v);
        for (int64_t k = 0; k < graph_shape_elements(&v->shape); k++)
            to[k] = (float)((k * 7 + i * 3) % 5 - 2);
    }
}

static void run(exec *e)
{
    error err = ERROR_INIT;
    feed(e);
    must(exec_run(e, 0, NULL, &err), &err);
}

static uint64_t plans_of(int n)
{
    uint64_t before = fake_dnn_plans();
    graph *g = build(n);
    exec *cpu = engine(&backend_cpu, g), *gpu = engine(&backend_cuda, g);
    uint64_t made = fake_dnn_plans() - before;
    run(cpu);
    run(gpu);
    for (int i = 0; i < n; i++) {
        const graph_value *v = NULL;
        const float *want = exec_value(cpu, 0, results[i], &v),
                    *got = exec_value(gpu, 0, results[i], NULL);
        assert_memory_equal(got, want, (size_t)graph_shape_elements(&v->shape) * sizeof *got);
    }
    exec_destroy(&cpu);
    exec_destroy(&gpu);
    graph_destroy(&g);
    return made;
}

static void test_what_is_alike_is_planned_once(void **state)
{
    (void)state;
    uint64_t one = plans_of(1);
    assert_true(one > 0);
    assert_int_equal(plans_of(2), one);
    assert_int_equal(plans_of(3), 2 * one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_what_is_alike_is_planned_once),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
