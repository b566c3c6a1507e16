/*
 * Stopwatches: two events that keep time. Among kernels that are captured they are nodes of the
 * graph, so that every play of it sets them, when the GPU gets there and not when the host says so.
 */
#include "backend/cuda/device/device.h"
#include "backend/cuda/device/gpu.h"
#include "common/base/alloc.h"

#include <stdlib.h>

struct backend_stopwatch {
    cudaEvent_t start, stop;
};

static void stopwatch_destroy(backend *b, backend_stopwatch **w)
{
    (void)b;
    if (!*w)
        return;
    if ((*w)->start)
        (void)cudaEventDestroy((*w)->start);
    if ((*w)->stop)
        (void)cudaEventDestroy((*w)->stop);
    free(*w);
    *w = NULL;
}

static status stopwatch_create(backend *b, backend_stopwatch **ret, error *err)
{
    backend_stopwatch *w = xcalloc(1, sizeof *w);
    cudaError_t made = cudaEventCreateWithFlags(&w->start, cudaEventDefault);
    if (made == cudaSuccess)
        made = cudaEventCreateWithFlags(&w->stop, cudaEventDefault);
    if (made == cudaSuccess)
        *ret = w;
    else
        stopwatch_destroy(b, &w);
    return device_check(made, "an event", err);
}

static status set(backend *b, cudaEvent_t e, error *err)
{
    unsigned how = b->is_recording ? cudaEventRecordExternal : cudaEventRecordDefault;
    return device_check(cudaEventRecordWithFlags(e, b->queues[QUEUE_COMPUTE], how),
                        "setting a stopwatch", err);
}

static status stopwatch_start(backend *b, backend_stopwatch *w, error *err)
{
    return set(b, w->start, err);
}

static status stopwatch_stop(backend *b, backend_stopwatch *w, error *err)
{
    return set(b, w->stop, err);
}

static status elapsed(cudaEvent_t from, cudaEvent_t to, double *ret_ms, error *err)
{
    float ms = 0;
    TRY_CUDA(cudaEventElapsedTime(&ms, from, to), "reading a stopwatch", err);
    *ret_ms = (double)ms;
    return OK;
}

static status stopwatch_read(const backend_stopwatch *w, double *ret_ms, error *err)
{
    return elapsed(w->start, w->stop, ret_ms, err);
}

static status stopwatch_read_since(const backend_stopwatch *w, const backend_stopwatch *since, double *ret_start_ms,
                                   double *ret_stop_ms, error *err)
{
    TRY(elapsed(since->start, w->start, ret_start_ms, err));
    return elapsed(since->start, w->stop, ret_stop_ms, err);
}

/* An event that was not made for threads that sleep is looked at all the time. */
static status stopwatch_await(backend *b, const backend_stopwatch *w, error *err)
{
    (void)b;
    return device_check(cudaEventSynchronize(w->stop), "the GPU", err);
}

const backend_stopwatch_ops cuda_stopwatch_ops = {
    .create = stopwatch_create,
    .destroy = stopwatch_destroy,
    .start = stopwatch_start,
    .stop = stopwatch_stop,
    .read = stopwatch_read,
    .read_since = stopwatch_read_since,
    .await = stopwatch_await,
};
