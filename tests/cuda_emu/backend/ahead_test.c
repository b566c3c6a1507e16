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

/* Images that are to be finished there, with what was drawn for each: those of the next batch go up beside a run. */
typedef struct image_loader {
    loader base;
    finish_draw *draws;
} image_loader;

static uint8_t byte_of(int batch, int i)
{
    return (uint8_t)(batch * 50 + i);
}

static status write_next_images(void *loader_, error *err)
{
    image_loader *l = loader_;
    TRY(exec_refill(l->base.e, err));
    uint8_t *x = exec_input(l->base.e, 0, "x", NULL);
    for (int i = 0; i < N; i++) {
        x[i] = byte_of(l->base.batch, i);
        l->draws[i] = (finish_draw){.mixing = FINISH_BLENDED, .share = (float)l->base.batch, .rest = 1};
    }
    l->base.batch++;
    return exec_upload_inputs(l->base.e, 0, err);
}

static void test_images_are_finished_there(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    graph *g = negation();
    image_loader l = {.draws = NULL};
    exec_options o = {.backend = &backend_cuda,
                      .device = {.threads = 1},
                      .graphs = (const graph *const[]){g},
                      .n_graphs = 1};
    const finish_form pixel = {.kind = FINISH_BYTES, .planes = 1, .height = 1, .width = 1, .planes_a_channel = 1,
                               .scale = {2}, .offset = {3}};
    assert_true(backend_cuda.queue->finishes());
    must(exec_create(&o, &l.base.e, &err), &err);
    must(exec_input_unfinished(l.base.e, "x", &pixel, &l.draws, &err), &err);
    uint64_t waits = emu_pageable_copies(), up = emu_bytes_up();
    must(write_next_images(&l, &err), &err);
    const exec_hooks hooks = {.ahead = write_next_images, .user = &l};
    for (int batch = 0; batch < BATCHES; batch++) {
        must(exec_run(l.base.e, 0, &hooks, &err), &err);
        const float *y = exec_value(l.base.e, 0, "y", NULL);
        for (int i = 0; i < N; i++) {
            int own = 2 * byte_of(batch, i) + 3, before = 2 * byte_of(batch, (i + N - 1) % N) + 3;
            assert_true(y[i] == (float)-(before + own * batch));
        }
    }
    assert_int_equal(emu_pageable_copies(), waits);
    exec_destroy(&l.base.e);
    assert_int_equal(emu_bytes_up() - up, (BATCHES + 1) * N * (1 + sizeof(finish_draw)));
    graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_each_run_has_its_own_batch),
        KERNEL_TEST(test_bytes_go_up_as_they_are),
        KERNEL_TEST(test_images_are_finished_there),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
