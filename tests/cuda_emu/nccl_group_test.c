/* A group of GPUs that is given up while one of them calls NCCL: communicators go when no call has them any more,
 * and calls that wait for a GPU that has given up are ended. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "cuda_emu/fakes/fakes.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS = 2, N = 5 };

static struct scene {
    backend *members[GPUS];
    backend_group *group;
    float *memory[GPUS];
    atomic_bool is_inside;  /* a send */
    atomic_bool waits_long; /* it waits until it is ended; else until others are refused */
    atomic_bool was_freed;  /* communicators, by the end of it */
    atomic_int n_freed;
    status result;
} scene;

static unsigned free_comm(nccl_comm c)
{
    (void)c;
    atomic_fetch_add(&scene.n_freed, 1);
    return API_SUCCESS;
}

/* Once another member's call is refused the abort has begun, and holds no lock. */
static unsigned slow_send(const void *x, size_t n, unsigned type, int peer, nccl_comm c, cuda_stream stream)
{
    (void)x, (void)n, (void)type, (void)peer, (void)c, (void)stream;
    error err = ERROR_INIT;
    atomic_store(&scene.is_inside, true);
    while (backend_cuda.group->exchange(scene.group, 1, NULL, 0, &err) == OK)
        sched_yield();
    while (scene.waits_long && atomic_load(&scene.n_freed) == 0)
        sched_yield();
    atomic_store(&scene.was_freed, atomic_load(&scene.n_freed) > 0);
    return API_SUCCESS;
}

static void *send_slowly(void *unused)
{
    (void)unused;
    error err = ERROR_INIT;
    backend_exchange all = {.with = 1, .out = scene.memory[0], .n_out = N};
    scene.result = backend_cuda.queue->enter(scene.members[0], &err);
    if (scene.result == OK)
        scene.result = backend_cuda.group->exchange(scene.group, 0, &all, 1, &err);
    return NULL;
}

/* Gives the group up while a call is under way. */
static void give_up(bool waits_long)
{
    error err = ERROR_INIT;
    pthread_t thread;
    scene = (struct scene){.waits_long = waits_long};
    for (int i = 0; i < GPUS; i++) {
        backend_options device = {.threads = 1, .device = i};
        void *p = NULL;
        assert_int_equal(backend_cuda.open(&device, &scene.members[i], &err), OK);
        assert_int_equal(backend_cuda.alloc(scene.members[i], SPACE_DEVICE, N * sizeof(float), "x", &p, &err), OK);
        scene.memory[i] = p;
    }
    assert_int_equal(backend_cuda.group->create(scene.members, GPUS, &scene.group, &err), OK);
    api_table real = api;
    api.ncclSend = slow_send;
    api.ncclCommAbort = free_comm;
    assert_int_equal(pthread_create(&thread, NULL, send_slowly, NULL), 0);
    while (!atomic_load(&scene.is_inside))
        sched_yield();
    backend_cuda.group->abort(scene.group);
    assert_int_equal(atomic_load(&scene.n_freed), GPUS);
    pthread_join(thread, NULL);
    api = real;
    assert_int_equal(backend_cuda.group->exchange(scene.group, 1, NULL, 0, &err), E_DEVICE);
    assert_string_equal(err.text, "NCCL: another GPU has given up");
    backend_cuda.group->destroy(&scene.group);
    for (int i = 0; i < GPUS; i++) {
        backend_cuda.release(scene.members[i], SPACE_DEVICE, scene.memory[i]);
        backend_cuda.close(&scene.members[i]);
    }
}

static void test_communicators_outlast_the_calls_that_have_them(void **state)
{
    (void)state;
    give_up(false);
    assert_false(scene.was_freed);
    assert_int_equal(scene.result, OK);
}

static void test_a_call_that_waits_for_the_abort_is_ended(void **state)
{
    (void)state;
    give_up(true);
    assert_true(scene.was_freed);
}

int main(void)
{
    setenv("EMU_DEVICES", "2", 1);
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_communicators_outlast_the_calls_that_have_them),
        KERNEL_TEST(test_a_call_that_waits_for_the_abort_is_ended),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
