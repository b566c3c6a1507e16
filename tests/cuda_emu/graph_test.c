/* Graphs of the emulation: they play what was captured, and captures are as touchy as CUDA's. */
#include "cuda_emu/kernel_test.h"

#include "cuda_emu/machine.h"
#include "cuda_emu/scenes.h"
#include "cuda_runtime_api.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { N = 100 };

#define ok(call) assert_int_equal((call), cudaSuccess)

/* A captured stream and what lies around. */
typedef struct studio {
    cudaStream_t stream, other;
    cudaEvent_t event;
    float *host, *x;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
} studio;

/* Captures are allowed only kernels that have run. */
static studio begin(void)
{
    studio v = {.stream = kernel_test_stream()};
    ok(cudaStreamCreateWithFlags(&v.other, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&v.event, cudaEventDisableTiming));
    ok(cudaHostAlloc((void **)&v.host, N * sizeof(float), cudaHostAllocPortable));
    v.x = device_alloc(N * sizeof(float));
    scene_set(v.stream, v.x, 0, N);
    ok(cudaStreamSynchronize(v.stream));
    ok(cudaStreamBeginCapture(v.stream, cudaStreamCaptureModeThreadLocal));
    return v;
}

static void end_capture(studio *v)
{
    ok(cudaStreamEndCapture(v->stream, &v->graph));
    ok(cudaGraphInstantiate(&v->replay, v->graph, 0));
    ok(cudaGraphDestroy(v->graph));
    ok(cudaGraphUpload(v->replay, v->stream));
}

static void end(studio *v)
{
    if (v->replay)
        ok(cudaGraphExecDestroy(v->replay));
    ok(cudaStreamDestroy(v->other));
    ok(cudaEventDestroy(v->event));
    ok(cudaFreeHost(v->host));
}

static void a_graph_plays_what_was_captured(void **state)
{
    (void)state;
    studio v = begin();
    scene_set(v.stream, v.x, 3, N - 1);
    ok(cudaMemsetAsync(v.x, 0, sizeof(float), v.stream));
    ok(cudaMemcpyAsync(v.host, v.x, N * sizeof(float), cudaMemcpyDeviceToHost, v.stream));
    v.host[0] = v.host[1] = 7;
    end_capture(&v);
    for (int turn = 0; turn < 2; turn++) {
        ok(cudaStreamSynchronize(v.stream));
        assert_true(v.host[1] == (turn ? 3 : 7));
        scene_set(v.stream, v.x, 5, N);
        ok(cudaGraphLaunch(v.replay, v.stream));
        assert_true(isnan(v.host[1])); /* it is on its way */
    }
    ok(cudaStreamSynchronize(v.stream));
    assert_true(v.host[0] == 0);
    assert_true(v.host[N - 2] == 3);
    assert_true(v.host[N - 1] == 5);
    end(&v);
}

static void what_is_on_its_way_outlives_its_graph(void **state)
{
    (void)state;
    studio v = begin();
    scene_set(v.stream, v.x, 4, N);
    ok(cudaMemcpyAsync(v.host, v.x, N * sizeof(float), cudaMemcpyDeviceToHost, v.stream));
    end_capture(&v);
    ok(cudaGraphLaunch(v.replay, v.stream));
    ok(cudaGraphExecDestroy(v.replay));
    v.replay = NULL;
    assert_true(isnan(v.host[0])); /* nobody has waited */
    ok(cudaStreamSynchronize(v.stream));
    assert_true(v.host[0] == 4);
    end(&v);
}

/* --- what captures do not survive --- */

static cudaError_t allocates(const studio *v)
{
    void *p;
    (void)v;
    return cudaMalloc(&p, 8);
}

static cudaError_t frees(const studio *v)
{
    return cudaFree(v->x);
}

static cudaError_t pins(const studio *v)
{
    static char room[8];
    (void)v;
    return cudaHostRegister(room, sizeof room, cudaHostRegisterPortable);
}

static cudaError_t allocates_pinned(const studio *v)
{
    void *p;
    (void)v;
    return cudaHostAlloc(&p, 8, cudaHostAllocPortable);
}

static cudaError_t waits(const studio *v)
{
    return cudaStreamSynchronize(v->stream);
}

static cudaError_t waits_for_another(const studio *v)
{
    return cudaStreamSynchronize(v->other);
}

static cudaError_t waits_for_all(const studio *v)
{
    (void)v;
    return cudaDeviceSynchronize();
}

static cudaError_t asks(const studio *v)
{
    return cudaStreamQuery(v->stream);
}

static cudaError_t asks_an_event(const studio *v)
{
    return cudaEventQuery(v->event);
}

static cudaError_t waits_for_an_event(const studio *v)
{
    return cudaEventSynchronize(v->event);
}

static cudaError_t marks(const studio *v)
{
    return cudaEventRecord(v->event, v->stream);
}

static cudaError_t follows(const studio *v)
{
    return cudaStreamWaitEvent(v->stream, v->event, 0);
}

static cudaError_t captures_again(const studio *v)
{
    return cudaStreamBeginCapture(v->stream, cudaStreamCaptureModeThreadLocal);
}

static cudaError_t copies_pageable_memory(const studio *v)
{
    float pageable = 1;
    return cudaMemcpyAsync(v->x, &pageable, 4, cudaMemcpyHostToDevice, v->stream);
}

static void captures_break_of_what_they_cannot_hold(void **state)
{
    (void)state;
    static cudaError_t (*const deeds[])(const studio *) = {
        allocates,      frees,
        pins,           allocates_pinned,
        waits,          waits_for_another,
        waits_for_all,  asks,
        asks_an_event,  waits_for_an_event,
        marks,          follows,
        captures_again, copies_pageable_memory,
    };
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        studio v = begin();
        assert_int_equal(deeds[i](&v), cudaErrorStreamCaptureUnsupported);
        scene_set(v.stream, v.x, 1, N);
        assert_int_equal(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
        assert_int_equal(cudaStreamEndCapture(v.stream, &v.graph),
                         cudaErrorStreamCaptureInvalidated);
        assert_null(v.graph);
        ok(cudaStreamSynchronize(v.stream));
        end(&v);
    }
    (void)cudaGetLastError();
}

/* Once in a process: then it is loaded. */
static void a_kernel_is_not_loaded_in_a_capture(void **state)
{
    (void)state;
    static bool was_here;
    studio v = begin();
    scene_leftover(v.stream, v.x);
    assert_int_equal(cudaGetLastError(),
                     was_here ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
    assert_int_equal(cudaStreamEndCapture(v.stream, &v.graph),
                     was_here ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    if (was_here)
        ok(cudaGraphDestroy(v.graph));
    scene_leftover(v.stream, v.x);
    ok(cudaStreamSynchronize(v.stream));
    was_here = true;
    end(&v);
}

static void captures_begin_and_end_as_they_should(void **state)
{
    (void)state;
    studio v = begin();
    cudaGraph_t none;
    assert_int_equal(cudaStreamEndCapture(v.other, &none), cudaErrorStreamCaptureUnmatched);
    end_capture(&v);
    ok(cudaGraphLaunch(v.replay, v.stream)); /* it is empty */
    (void)cudaStreamBeginCapture(v.other, cudaStreamCaptureModeGlobal);
    if (!strstr(emu_fault_text(), "cudaStreamCaptureModeThreadLocal"))
        fail_msg("'%s'", emu_fault_text());
    emu_faults_forget();
    end(&v);
}

/* --- several threads --- */

static void *work_apart(void *studio_)
{
    const studio *v = studio_;
    static cudaError_t found[6];
    cudaGraph_t g;
    void *p = NULL;
    found[0] = cudaMalloc(&p, 8);
    found[1] = cudaMemsetAsync(p, 0, 8, v->other);
    found[2] = cudaEventRecord(v->event, v->other);
    found[3] = cudaEventSynchronize(v->event);
    found[4] = cudaFree(p);
    found[5] = cudaStreamEndCapture(v->stream, &g);
    return found;
}

static void other_threads_go_on_beside_a_capture(void **state)
{
    (void)state;
    studio v = begin();
    pthread_t thread;
    void *found_;
    assert_int_equal(pthread_create(&thread, NULL, work_apart, &v), 0);
    assert_int_equal(pthread_join(thread, &found_), 0);
    const cudaError_t *found = found_;
    for (int i = 0; i < 5; i++)
        ok(found[i]);
    assert_int_equal(found[5], cudaErrorStreamCaptureWrongThread);
    end_capture(&v);
    end(&v);
}

/* By the moment at which the stream gets there: inside of a graph with every launch. */
static void events_keep_time(void **state)
{
    (void)state;
    cudaEvent_t start, stop;
    float first = -1, all = -1;
    studio v = begin();
    ok(cudaEventCreateWithFlags(&start, cudaEventDefault));
    ok(cudaEventCreateWithFlags(&stop, cudaEventDefault));
    ok(cudaEventRecordWithFlags(start, v.stream, cudaEventRecordExternal));
    scene_set(v.stream, v.x, 3, N);
    ok(cudaEventRecordWithFlags(stop, v.stream, cudaEventRecordExternal));
    end_capture(&v);
    assert_int_equal(cudaEventElapsedTime(&all, start, stop), cudaErrorInvalidResourceHandle);
    ok(cudaGraphLaunch(v.replay, v.stream));
    assert_int_equal(cudaEventElapsedTime(&all, start, stop), cudaErrorNotReady);
    ok(cudaStreamSynchronize(v.stream));
    ok(cudaEventElapsedTime(&first, start, stop));
    assert_true(first >= 0);
    ok(cudaGraphLaunch(v.replay, v.stream));
    ok(cudaEventRecord(stop, v.stream)); /* from outside, later */
    ok(cudaStreamSynchronize(v.stream));
    ok(cudaEventElapsedTime(&all, start, stop));
    assert_true(all >= 0);
    assert_int_equal(cudaEventElapsedTime(&all, start, v.event), cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaEventRecordWithFlags(start, v.stream, cudaEventRecordExternal),
                     cudaErrorInvalidValue);
    (void)cudaGetLastError();
    ok(cudaEventDestroy(start));
    ok(cudaEventDestroy(stop));
    end(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(a_graph_plays_what_was_captured),
        KERNEL_TEST(what_is_on_its_way_outlives_its_graph),
        KERNEL_TEST(captures_break_of_what_they_cannot_hold),
        KERNEL_TEST(a_kernel_is_not_loaded_in_a_capture),
        KERNEL_TEST(captures_begin_and_end_as_they_should),
        KERNEL_TEST(other_threads_go_on_beside_a_capture),
        KERNEL_TEST(events_keep_time),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
