/*
 * Streams, events, copies and memory. Kernels have one stream, copies up and down and what devices give
 * each other one each, so that all go on concurrently. Events do not keep time, and a thread that waits
 * for one sleeps.
 */
#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/finish.h"
#include "backend/cuda/kernels/input.h"
#include "backend/cuda/program.h"
#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct backend_event {
    cudaEvent_t event;
};

status queues_open(backend *b, unsigned unused, error *err)
{
    b->records = device_wants("TEQUIO_CUDA_GRAPHS");
    for (int q = 0; q < QUEUE_COUNT; q++)
        if (!(unused & 1u << q))
            TRY_CUDA(cudaStreamCreateWithFlags(&b->queues[q], cudaStreamNonBlocking), "a stream", err);
    void *fault = NULL;
    TRY_CUDA(cudaMalloc(&fault, sizeof *b->fault), "memory", err);
    b->fault = fault;
    return OK;
}

/* A device that failed does not let go of anything: nobody needs to hear it now. */
void queues_close(backend *b)
{
    for (int q = 0; q < QUEUE_COUNT; q++)
        if (b->queues[q])
            (void)cudaStreamDestroy(b->queues[q]);
    if (b->fault)
        (void)cudaFree(b->fault);
}

static status enter(const backend *b, error *err)
{
    return device_check(cudaSetDevice(b->device), "choosing the GPU", err);
}

static void event_destroy(backend *b, backend_event **e)
{
    (void)b;
    if (!*e)
        return;
    if ((*e)->event)
        (void)cudaEventDestroy((*e)->event);
    free(*e);
    *e = NULL;
}

static status event_create(backend *b, backend_event **ret, error *err)
{
    backend_event *e = xcalloc(1, sizeof *e);
    cudaError_t made =
        cudaEventCreateWithFlags(&e->event, cudaEventBlockingSync | cudaEventDisableTiming);
    if (made != cudaSuccess)
        event_destroy(b, &e);
    *ret = e;
    return device_check(made, "an event", err);
}

static status copy(backend *b, backend_queue q, void *to, const void *from, size_t bytes,
                   error *err)
{
    return device_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, b->queues[q]), "a copy",
                        err);
}

static status expand(backend *b, float *dst, const uint8_t *from, size_t n,
                     const backend_bytes *meaning, error *err)
{
    _Static_assert((int)LAUNCH_CHANNELS == (int)BACKEND_CHANNELS, "the same");
    launch_bytes call = {.n = (int64_t)n, .channels = meaning->channels, .inner = meaning->inner};
    memcpy(call.scale, meaning->scale, sizeof call.scale);
    memcpy(call.offset, meaning->offset, sizeof call.offset);
    launch_expand_bytes(b->queues[QUEUE_COMPUTE], &call, dst, from);
    return device_check(cudaGetLastError(), "the GPU refuses the kernel", err);
}

static bool finishes(void)
{
    return device_wants("TEQUIO_CUDA_AUGMENT");
}

static status finish(backend *b, void *dst, const void *from, const struct finish_form *form,
                     const struct finish_draw *draws, int64_t n, error *err)
{
    launch_finish(b->queues[QUEUE_COMPUTE], form, dst, from, draws, n);
    return device_check(cudaGetLastError(), "the GPU refuses the kernel", err);
}

static status mark(backend *b, backend_queue q, backend_event *e, error *err)
{
    return device_check(cudaEventRecord(e->event, b->queues[q]), "marking an event", err);
}

static status follow(backend *b, backend_queue q, const backend_event *e, error *err)
{
    return device_check(cudaStreamWaitEvent(b->queues[q], e->event, 0), "following an event", err);
}

static status reached(backend *b, const backend_event *e, bool *ret, error *err)
{
    (void)b;
    cudaError_t now = cudaEventQuery(e->event);
    *ret = now == cudaSuccess;
    if (now != cudaErrorNotReady)
        return device_check(now, "the GPU", err);
    (void)cudaGetLastError(); /* CUDA counts it among the errors */
    return OK;
}

static status wait(backend *b, const backend_event *e, error *err)
{
    (void)b;
    return device_check(cudaEventSynchronize(e->event), "the GPU", err);
}

static status fault_clear(backend *b, error *err)
{
    return device_check(cudaMemsetAsync(b->fault, 0xff, sizeof *b->fault, b->queues[QUEUE_COMPUTE]),
                        "clearing memory", err);
}

static const uint64_t *fault_word(const backend *b)
{
    return b->fault;
}

static status pin(backend *b, void *p, size_t bytes, error *err)
{
    (void)b;
    return device_check(cudaHostRegister(p, bytes, cudaHostRegisterPortable), "pinning memory", err);
}

static void unpin(backend *b, void *p)
{
    (void)b;
    (void)cudaHostUnregister(p);
}

const backend_queue_ops cuda_queue_ops = {
    .enter = enter,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .mark = mark,
    .follow = follow,
    .reached = reached,
    .wait = wait,
    .copy = copy,
    .expand = expand,
    .finishes = finishes,
    .finish = finish,
    .pin = pin,
    .unpin = unpin,
};

const backend_fault_ops cuda_fault_ops = {
    .clear = fault_clear,
    .word = fault_word,
    .check = program_fault,
};

static status clear(backend *b, void *p, size_t bytes, error *err)
{
    TRY_CUDA(cudaMemsetAsync(p, 0, bytes, b->queues[QUEUE_COMPUTE]), "clearing memory", err);
    return device_check(cudaStreamSynchronize(b->queues[QUEUE_COMPUTE]), "clearing memory", err);
}

static status alloc_device(backend *b, size_t bytes, bool clears, const char *what, void **ret, error *err)
{
    void *p = NULL;
    cudaError_t e = cudaMalloc(&p, bytes);
    if (e == cudaErrorMemoryAllocation) {
        size_t unused = 0, total = 0;
        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&unused, &total);
        return FAIL(err, E_NOMEM, "%s: %zu bytes, and GPU %d has %zu of %zu free", what, bytes,
                    b->device, unused, total);
    }
    TRY(device_check(e, what, err));
    status st = clears ? clear(b, p, bytes, err) : OK;
    if (st == OK)
        *ret = p;
    else
        (void)cudaFree(p);
    return st;
}

status cuda_alloc(backend *b, backend_space space, size_t bytes, const char *what, void **ret,
                  error *err)
{
    size_t at_least = bytes ? bytes : 1;
    if (space != SPACE_HOST)
        return alloc_device(b, at_least, space == SPACE_DEVICE, what, ret, err);
    void *p = NULL;
    TRY_CUDA(cudaHostAlloc(&p, at_least, cudaHostAllocPortable), what, err);
    memset(p, 0, at_least);
    *ret = p;
    return OK;
}

void cuda_release(backend *b, backend_space space, void *p)
{
    (void)b;
    if (p)
        (void)(space == SPACE_HOST ? cudaFreeHost(p) : cudaFree(p));
}
