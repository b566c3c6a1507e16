#include "cuda_emu/graph.h"
#include "cuda_emu/machine.h"

#include <stdlib.h>

struct CUgraph_st {
    emu_operation *list;
    size_t n, room;
    bool is_spoilt;
    cudaGraph_t next; /* capture of the same thread */
};

struct CUgraphExec_st {
    emu_operation *list;
    size_t n;
};

static _Thread_local cudaGraph_t captures;
static uint64_t n_launches;

/* --- what is taken in --- */

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

cudaError_t emu_graph_add(cudaGraph_t g, const emu_operation *o)
{
    if (g->is_spoilt)
        return cudaErrorStreamCaptureInvalidated;
    if (g->n == g->room) {
        g->room = g->room ? 2 * g->room : 16;
        g->list = must(realloc(g->list, g->room * sizeof *g->list));
    }
    g->list[g->n++] = *o;
    return cudaSuccess;
}

cudaError_t emu_graph_spoil(cudaGraph_t g)
{
    g->is_spoilt = true;
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t emu_graphs_forbid(void)
{
    cudaError_t e = cudaSuccess;
    for (cudaGraph_t g = captures; g; g = g->next)
        e = emu_graph_spoil(g);
    return e;
}

static void free_operations(emu_operation *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        emu_operation_free(&list[i]);
    free(list);
}

/* --- captures --- */

static cudaError_t begin(cudaStream_t s)
{
    if (*emu_stream_capture(s))
        return emu_graph_spoil(*emu_stream_capture(s));
    cudaGraph_t g = must(calloc(1, sizeof *g));
    g->next = captures;
    captures = *emu_stream_capture(s) = g;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode)
{
    emu_lock();
    if (mode != cudaStreamCaptureModeThreadLocal)
        emu_fault("a capture that other threads disturb; say cudaStreamCaptureModeThreadLocal");
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess)
        e = begin(s);
    emu_unlock();
    return emu_said(e);
}

static cudaError_t end(cudaStream_t s, cudaGraph_t *ret)
{
    cudaGraph_t g = *emu_stream_capture(s), *at = &captures;
    if (!g)
        return cudaErrorStreamCaptureUnmatched;
    while (*at && *at != g)
        at = &(*at)->next;
    if (!*at)
        return cudaErrorStreamCaptureWrongThread;
    *at = g->next;
    *emu_stream_capture(s) = NULL;
    if (g->is_spoilt) {
        (void)cudaGraphDestroy(g);
        g = NULL;
    }
    *ret = g;
    return g ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *ret)
{
    emu_lock();
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess)
        e = end(s, ret);
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    free_operations(g->list, g->n);
    free(g);
    return cudaSuccess;
}

/* --- replay --- */

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret, cudaGraph_t g, unsigned long long flags)
{
    (void)flags;
    cudaGraphExec_t x = must(calloc(1, sizeof *x));
    x->list = must(calloc(g->n + 1, sizeof *x->list));
    for (; x->n < g->n; x->n++)
        x->list[x->n] = emu_operation_twin(&g->list[x->n]);
    *ret = x;
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t g, cudaStream_t s)
{
    (void)g;
    emu_lock();
    cudaError_t e = emu_stream_check(s);
    emu_unlock();
    return emu_said(e);
}

uint64_t emu_graph_launches(void)
{
    emu_lock();
    uint64_t n = n_launches;
    emu_unlock();
    return n;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t g, cudaStream_t s)
{
    emu_lock();
    n_launches++;
    cudaError_t e = emu_stream_check(s);
    if (e == cudaSuccess && *emu_stream_capture(s))
        e = emu_graph_spoil(*emu_stream_capture(s));
    for (size_t i = 0; i < g->n && e == cudaSuccess; i++) {
        emu_copy_spoil(&g->list[i]);
        e = emu_stream_push(s, emu_operation_twin(&g->list[i]));
    }
    emu_unlock();
    return emu_said(e);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g)
{
    free_operations(g->list, g->n);
    free(g);
    return cudaSuccess;
}
