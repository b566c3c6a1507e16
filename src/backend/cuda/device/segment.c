/*
 * Segments as CUDA's graphs: what is given to the compute stream is captured, and goes to the GPU
 * again as one piece. Only the capturing thread is kept from what cannot be captured; other lanes
 * go on.
 */
#include "backend/cuda/device/device.h"
#include "backend/cuda/device/gpu.h"
#include "common/base/alloc.h"

#include <stdlib.h>

struct backend_segment {
    cudaGraphExec_t graph;
};

static bool is_wanted(const backend *b)
{
    return b->records;
}

static status segment_begin(backend *b, error *err)
{
    TRY_CUDA(cudaStreamBeginCapture(b->queues[QUEUE_COMPUTE], cudaStreamCaptureModeThreadLocal),
             "recording kernels", err);
    b->is_recording = true;
    return OK;
}

static void segment_destroy(backend *b, backend_segment **s)
{
    (void)b;
    if (*s && (*s)->graph)
        (void)cudaGraphExecDestroy((*s)->graph);
    free(*s);
    *s = NULL;
}

/* The GPU has it before it is first played. */
static cudaError_t instantiate(const backend *b, cudaGraph_t recorded, cudaGraphExec_t *ret)
{
    cudaError_t e = cudaGraphInstantiate(ret, recorded, 0);
    return e == cudaSuccess ? cudaGraphUpload(*ret, b->queues[QUEUE_COMPUTE]) : e;
}

static status segment_end(backend *b, backend_segment **ret, error *err)
{
    cudaGraph_t recorded = NULL;
    b->is_recording = false;
    TRY_CUDA(cudaStreamEndCapture(b->queues[QUEUE_COMPUTE], &recorded), "recording kernels", err);
    backend_segment *s = xcalloc(1, sizeof *s);
    cudaError_t e = instantiate(b, recorded, &s->graph);
    (void)cudaGraphDestroy(recorded);
    if (e == cudaSuccess)
        *ret = s;
    else
        segment_destroy(b, &s);
    return device_check(e, "making a graph of kernels", err);
}

static status segment_play(backend *b, backend_segment *s, error *err)
{
    return device_check(cudaGraphLaunch(s->graph, b->queues[QUEUE_COMPUTE]), "a graph of kernels",
                        err);
}

const backend_recorder_ops cuda_recorder_ops = {
    .is_wanted = is_wanted,
    .begin = segment_begin,
    .end = segment_end,
    .play = segment_play,
    .destroy = segment_destroy,
};
