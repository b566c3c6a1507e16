/* Batches that go up while the device is still at work on the one before, and what goes up. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "cuda_emu/machine.h"
#include "exec/exec.h"

enum { N = 100, BATCHES = 4 };

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s: %s", status_name(st), err->text);
}

static graph *negation(void)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val x, y;
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "x", DT_F32, (graph_shape){1, {N}}, &x, &err), &err);
    must(graph_add_1(g, OP_NEG, "y", &x, 1, NULL, &y, &err), &err);
    graph_keep(g, y);
    return g;
}

typedef struct loader {
    exec *e;
    int batch; /* to be written next */
} loader;

/* As a lane does: over what went up before, and on its way at once. */
static status write_next(void *loader_, error *err)
{
    loader *l = loader_;
    TRY(exec_refill(l->e, err));
    float *x = exec_input(l->e, 0, "x", NULL);
    for (int i = 0; i < N; i++)
        x[i] = (float)(1000 * l->batch + i);
    l->batch++;
    return exec_upload_inputs(l->e, 0, err);
}

static void test_each_run_has_its_own_batch(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    graph *g = negation();
    loader l = {0};
    exec_options o = {.backend = &backend_cuda,
                      .device = {.threads = 1},
                      .graphs = (const graph *const[]){g},
                      .n_graphs = 1};
    must(exec_create(&o, &l.e, &err), &err);
    uint64_t waits = emu_pageable_copies();
    must(write_next(&l, &err), &err);
    const exec_hooks hooks = {.ahead = write_next, .user = &l};
    for (int batch = 0; batch < BATCHES; batch++) {
        must(exec_run(l.e, 0, &hooks, &err), &err);
        const float *y = exec_value(l.e, 0, "y", NULL);
        for (int i = 0; i < N; i++)
            assert_true(y[i] == (float)(-1000 * batch - i));
    }
    assert_int_equal(emu_pageable_copies(), waits);
    exec_destroy(&l.e);
    graph_destroy(&g);
}

/* Pixels become numbers on the device. */
static void test_bytes_go_up_as_they_are(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    graph *g = negation();
    exec *e = NULL;
    exec_options o = {.backend = &backend_cuda,
                      .device = {.threads = 1},
                      .graphs = (const graph *const[]){g},
                      .n_graphs = 1};
    must(exec_create(&o, &e, &err), &err);
    assert_true(exec_takes_bytes(e));
    exec_input_as_bytes(e, "x", &(backend_bytes){.channels = 1, .inner = N, .scale = {0.5f}, .offset = {3}});
    uint8_t *x = exec_input(e, 0, "x", NULL);
    for (int i = 0; i < N; i++)
        x[i] = (uint8_t)(2 * i);
    uint64_t up = emu_bytes_up();
    must(exec_run(e, 0, NULL, &err), &err);
    assert_int_equal(emu_bytes_up() - up, N);
    const float *y = exec_value(e, 0, "y", NULL);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == (float)(-i - 3));
    exec_destroy(&e);
    graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_each_run_has_its_own_batch),
        KERNEL_TEST(test_bytes_go_up_as_they_are),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
