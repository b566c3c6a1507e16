/* Streams, events and memory of the emulation: what nobody waits for is not done, or far too soon.
 */
#include "cuda_emu/kernel_test.h"

#include "cuda_emu/machine.h"
#include "cuda_emu/scenes.h"
#include "cuda_runtime_api.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 100 };

#define ok(call) assert_int_equal((call), cudaSuccess)

/* The kernel tests' stream, another one, an event, and pinned memory. */
typedef struct inproc_cluster {
    cudaStream_t one, other;
    cudaEvent_t event;
    float *host, *x, *y;
} inproc_cluster;

static inproc_cluster begin(void)
{
    inproc_cluster v = {.one = kernel_test_stream()};
    ok(cudaStreamCreateWithFlags(&v.other, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&v.event, cudaEventBlockingSync | cudaEventDisableTiming));
    ok(cudaHostAlloc((void **)&v.host, N * sizeof(float), cudaHostAllocPortable));
    v.x = device_alloc(N * sizeof(float));
    v.y = device_alloc(N * sizeof(float));
    return v;
}

static void end(inproc_cluster *v)
{
    ok(cudaStreamDestroy(v->other));
    ok(cudaEventDestroy(v->event));
    ok(cudaFreeHost(v->host));
}

static void nothing_happens_unasked(void **state)
{
    (void)state;
    inproc_cluster v = begin();
    scene_set(v.one, v.x, 3, N);
    ok(cudaMemcpyAsync(v.host, v.x, N * sizeof(float), cudaMemcpyDeviceToHost, v.one));
    ok(cudaEventRecord(v.event, v.one));
    assert_true(isnan(v.host[0])); /* whatever was there */
    assert_int_equal(cudaEventQuery(v.event), cudaErrorNotReady);
    assert_int_equal(cudaStreamQuery(v.one), cudaErrorNotReady);
    assert_int_equal(cudaEventQuery(v.event), cudaErrorNotReady);
    assert_true(isnan(v.host[0]));
    ok(cudaEventQuery(v.event));
    assert_true(v.host[N - 1] == 3);
    ok(cudaStreamQuery(v.one));
    assert_int_equal(cudaGetLastError(), cudaErrorNotReady); /* as CUDA has it */
    end(&v);
}

static void a_wait_forces_no_more_than_it_needs(void **state)
{
    (void)state;
    inproc_cluster v = begin();
    ok(cudaMemsetAsync(v.x, 0, N * sizeof(float), v.one));
    ok(cudaMemcpyAsync(v.host, v.x, N * sizeof(float), cudaMemcpyDeviceToHost, v.one));
    ok(cudaEventRecord(v.event, v.one));
    scene_set(v.one, v.x, 5, N);
    ok(cudaMemcpyAsync(v.host + 1, v.x, sizeof(float), cudaMemcpyDeviceToHost, v.one));
    ok(cudaEventSynchronize(v.event));
    assert_true(v.host[1] == 0);
    ok(cudaDeviceSynchronize());
    assert_true(v.host[1] == 5);
    end(&v);
}

/* One stream makes y, the other reads it, then the first makes it anew. */
static float read_between(bool after_made, bool before_anew)
{
    inproc_cluster v = begin();
    cudaEvent_t read;
    ok(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
    scene_set(v.one, v.y, 1, N);
    ok(cudaEventRecord(v.event, v.one));
    if (after_made)
        ok(cudaStreamWaitEvent(v.other, v.event, 0));
    ok(cudaMemcpyAsync(v.host, v.y, N * sizeof(float), cudaMemcpyDeviceToHost, v.other));
    ok(cudaEventRecord(read, v.other));
    if (before_anew)
        ok(cudaStreamWaitEvent(v.one, read, 0));
    scene_set(v.one, v.y, 2, N);
    ok(cudaEventSynchronize(read));
    float found = v.host[0];
    ok(cudaStreamSynchronize(v.one));
    ok(cudaEventDestroy(read));
    end(&v);
    return found;
}

static void streams_need_events(void **state)
{
    (void)state;
    bool does_rush = emu_schedule() & EMU_RUSH;
    assert_true(read_between(true, true) == 1);
    if (does_rush) /* the last value was there too soon */
        assert_true(read_between(true, false) == 2);
    else /* the first was not there yet */
        assert_true(isnan(read_between(false, true)));
}

static void copies_of_pageable_memory_wait(void **state)
{
    (void)state;
    inproc_cluster v = begin();
    float pageable = 7;
    uint64_t before = emu_pageable_copies();
    ok(cudaMemcpyAsync(v.x, &pageable, sizeof pageable, cudaMemcpyHostToDevice, v.one));
    pageable = 8; /* was taken */
    ok(cudaMemcpyAsync(v.host, v.x, sizeof pageable, cudaMemcpyDefault, v.one));
    assert_true(isnan(v.host[0]));
    ok(cudaStreamSynchronize(v.one));
    assert_true(v.host[0] == 7);
    assert_int_equal(emu_pageable_copies(), before + 1);
    end(&v);
}

static void memory_has_an_end(void **state)
{
    (void)state;
    size_t rest, total, rest_after;
    ok(cudaMemGetInfo(&rest, &total));
    void *p, *all;
    ok(cudaMalloc(&p, 1000));
    ok(cudaMemGetInfo(&rest_after, &total));
    assert_int_equal(rest - rest_after, 1000);
    assert_int_equal(cudaMalloc(&all, total), cudaErrorMemoryAllocation);
    assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    ok(cudaFree(p));
    assert_int_equal(cudaFree(p), cudaErrorInvalidValue);
    ok(cudaFree(NULL));
    static _Alignas(4096) char host[2 * 4096];
    ok(cudaHostRegister(host, 64, cudaHostRegisterPortable));
    assert_int_equal(cudaHostRegister(host + 4095, 2, 0), cudaErrorHostMemoryAlreadyRegistered);
    ok(cudaHostRegister(host + 4096, 2, 0));
    assert_int_equal(cudaHostUnregister(host + 1), cudaErrorHostMemoryNotRegistered);
    ok(cudaHostUnregister(host));
    ok(cudaHostUnregister(host + 4096));
}

static void expect_fault(const char *text)
{
    if (!strstr(emu_fault_text(), text))
        fail_msg("the fault is '%s', not '...%s...'", emu_fault_text(), text);
    emu_faults_forget();
}

static void what_is_unpinned_too_early_is_a_fault(void **state)
{
    (void)state;
    inproc_cluster v = begin();
    float host[N];
    ok(cudaHostRegister(host, sizeof host, cudaHostRegisterPortable));
    ok(cudaMemcpyAsync(v.x, host, sizeof host, cudaMemcpyHostToDevice, v.one));
    ok(cudaStreamSynchronize(v.one));
    ok(cudaHostUnregister(host));
    ok(cudaHostRegister(host, sizeof host, cudaHostRegisterPortable));
    ok(cudaMemcpyAsync(host, v.x, sizeof host, cudaMemcpyDeviceToHost, v.one));
    ok(cudaHostUnregister(host));
    expect_fault("memory of the host is unpinned, which a copy has yet to touch");
    end(&v);
}

static void what_leaves_its_memory_is_a_fault(void **state)
{
    (void)state;
    inproc_cluster v = begin();
    scene_set(v.one, v.x, 1, N + 1);
    assert_int_equal(cudaStreamSynchronize(v.one), cudaErrorLaunchFailure);
    assert_int_equal(cudaMemsetAsync(v.x, 0, 4, v.one), cudaErrorLaunchFailure); /* it is broken */
    expect_fault("a write behind an allocation of 400 bytes");
    float *host = v.host;
    assert_int_equal(cudaMemcpyAsync(v.x, host, 401, cudaMemcpyHostToDevice, v.one),
                     cudaErrorInvalidValue);
    expect_fault("no allocation holds these 401 bytes");
    assert_int_equal(cudaMemcpyAsync(v.x, host, 4, cudaMemcpyDeviceToHost, v.one),
                     cudaErrorInvalidValue);
    expect_fault("which is no memory of a device");
    scene_set(NULL, v.x, 1, 1);
    expect_fault("default stream");
    end(&v);
}

/* How a child ends that does `what`, and what it says. */
static int child(void (*what)(void), char said[1000])
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        what();
        exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; n < 999 && (got = read(ends[0], said + n, 999 - n)) > 0; n += (size_t)got)
        ;
    said[n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static float *somewhere;

static void touch_from_the_host(void)
{
    *(volatile float *)somewhere = 1;
}

static void go_on_after_a_fork(void)
{
    (void)cudaMalloc((void **)&somewhere, 4);
}

static void run_deep(void)
{
    emu_own();
    scene_deep(kernel_test_stream(), somewhere);
    (void)cudaDeviceSynchronize();
}

static void run_wild(void)
{
    emu_own();
    scene_wild(kernel_test_stream());
    (void)cudaDeviceSynchronize();
}

static void look_away(void)
{
    scene_set(NULL, somewhere, 1, 1);
}

static void expect_end(void (*what)(void), bool is_signal, const char *text)
{
    char said[1000];
    int status = child(what, said);
    if (!strstr(said, text))
        fail_msg("it says '%s', not '...%s...'", said, text);
#ifdef TEQUIO_SANITIZED
    (void)is_signal;
    assert_int_not_equal(status, 0);
#else
    assert_true(is_signal ? WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV
                          : WIFEXITED(status) && WEXITSTATUS(status) == 1);
#endif
}

static void accidents_tell_what_they_are(void **state)
{
    (void)state;
    somewhere = device_alloc(64);
    expect_end(touch_from_the_host, true, "the host touched memory of a device");
    expect_end(run_deep, true, "stack");
    expect_end(run_wild, true, "a kernel touched memory that is not there: 0x40 wild, block");
    expect_end(go_on_after_a_fork, false, "a forked process uses devices that its parent had begun");
    expect_end(look_away, false, "1 faults, the first: work for the default stream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(nothing_happens_unasked),
        KERNEL_TEST(a_wait_forces_no_more_than_it_needs),
        KERNEL_TEST(streams_need_events),
        KERNEL_TEST(copies_of_pageable_memory_wait),
        KERNEL_TEST(memory_has_an_end),
        KERNEL_TEST(what_is_unpinned_too_early_is_a_fault),
        KERNEL_TEST(what_leaves_its_memory_is_a_fault),
        KERNEL_TEST(accidents_tell_what_they_are),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
