#include "backend/cuda/cuda.h"

#include "backend/cuda/device/device.h"
#include "backend/cuda/library/api.h"
#include "backend/cuda/library/dnn.h"
#include "backend/cuda/library/lt.h"
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/load/load.h"
#include "common/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

static void cuda_close(backend **b)
{
    dnn_close(*b);
    lt_close(*b);
    queues_close(*b);
    free(*b);
    *b = NULL;
}

static status cuda_open(const backend_options *options, backend **ret, error *err)
{
    struct cudaDeviceProp found;
    TRY(device_select(options->device, err));
    TRY_CUDA(cudaGetDeviceProperties(&found, options->device), "asking for the GPU's properties",
             err);
    TRY(device_suits(options->device, err));
    backend *b = xcalloc(1, sizeof *b);
    b->device = options->device;
    b->arch = 10 * found.major + found.minor;
    b->shared_limit = found.sharedMemPerBlockOptin;
    b->fuses = device_wants("TEQUIO_CUDA_FUSION");
    status st = queues_open(b, options->unused, err);
    if (st == OK)
        *ret = b;
    else
        cuda_close(&b);
    return st;
}

static bool cuda_guards(const backend *b)
{
    (void)b;
    return device_asks("TEQUIO_CUDA_GUARD");
}

static size_t cuda_value_bytes(const backend_program *p, graph_val v)
{
    return p->bytes[v];
}

static int32_t cuda_runs_at(const backend_program *p, int32_t node)
{
    return p->group[node] ? p->group[node]->last : node;
}

static graph_val cuda_same_as(const backend_program *p, graph_val v)
{
    return p->same_as[v];
}

/* Of groups those of a loss, where its gradient takes the place of the scores. */
static bool cuda_can_run_inplace(const backend_program *p, int32_t node)
{
    const graph_node *n = graph_node_at(p->g, node);
    const cuda_group *group = p->group[node];
    bool takes = group ? group->gradients == node : p->nodes[node].takes_inplace;
    return takes && p->bytes[n->in[graph_node_inplace(n)]] == p->bytes[n->out[0]];
}

static bool cuda_can_alias(const backend_program *p, int32_t node)
{
    const cuda_node *n = &p->nodes[node];
    return !n->in[0].moves && !n->out[0].moves && n->in[0].seen.type == n->out[0].seen.type &&
           n->in[0].seen.pitch == n->out[0].seen.pitch;
}

static status cuda_prepare(backend_program *p, int32_t node, backend_kernel *ret, error *err)
{
    (void)err;
    cuda_node *n = &p->nodes[node];
    *ret = (backend_kernel){
        .run = cuda_node_computes(n) ? cuda_node_run : NULL,
        .state = n,
        .workspace_bytes = n->scratch_bytes,
    };
    return OK;
}

/* Of a group the node that it is around, though it runs in the place of its last. */
static const char *cuda_done_by(const backend_program *p, int32_t node)
{
    const cuda_group *group = p->group[node];
    if (!group || group->spine == GRAPH_NONE)
        return p->nodes[node].by;
    return node == group->spine ? p->nodes[group->last].by : NULL;
}

static bool holds(const graph_val *list, int32_t n, graph_val v)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return false;
}

static size_t cuda_operand_bytes(const backend_program *p, int32_t node, graph_op *ret_around)
{
    const cuda_node *n = &p->nodes[node];
    const cuda_group *group = p->group[node];
    size_t bytes = 0;
    if (!cuda_node_computes(n))
        return 0;
    for (int32_t i = 0; i < n->n_reads; i++)
        if (n->reads[i] != GRAPH_NONE && !holds(n->reads, i, n->reads[i]))
            bytes += p->bytes[n->reads[i]];
    for (int32_t i = 0; i < n->n_writes; i++)
        if (n->writes[i] != GRAPH_NONE && !holds(n->reads, n->n_reads, n->writes[i]))
            bytes += p->bytes[n->writes[i]];
    *ret_around = group && group->spine == GRAPH_NONE ? OP_COUNT : n->node->op;
    return bytes;
}

static void cuda_fingerprint(const backend *b, char *ret, size_t bytes)
{
    struct cudaDeviceProp found = {.name = "a GPU that does not answer"};
    const api_found *lt = api_find(API_LT), *dnn = api_find(API_DNN), *rtc = api_find(API_RTC);
    (void)cudaGetDeviceProperties(&found, b->device);
    snprintf(ret, bytes,
             "CUDA %s sm_%d%d %d SMs, runtime %d.%d, cuBLASLt %s, cuDNN %s%s, halves stored%s",
             found.name, b->arch / 10, b->arch % 10, found.multiProcessorCount,
             CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, lt->path ? lt->version : "none",
             dnn->path ? dnn->version : "none", dnn->path && !rtc->path ? " without NVRTC" : "",
             b->fuses ? "" : ", nodes alone");
}

static bool makes_pitch(const backend_program *p, const graph_node *n)
{
    bool some = false;
    for (int32_t k = 0; k < n->n_out; k++)
        some |= n->out[k] != GRAPH_NONE && p->storage[n->out[k]].pitch != 0;
    for (int32_t k = 0; k < n->n_in; k++)
        some |= n->in[k] != GRAPH_NONE && p->storage[n->in[k]].pitch != 0;
    return some;
}

/* Ends of products have bits of their own, and rows at even places are multiplied by other kernels. */
static bool cuda_is_bound(const backend_program *p, int32_t node)
{
    const cuda_group *group = p->group[node];
    graph_op spine = group && group->spine != GRAPH_NONE ? graph_node_at(p->g, group->spine)->op : OP_COUNT;
    return spine == OP_GEMM || spine == OP_MATMUL || makes_pitch(p, graph_node_at(p->g, node));
}

static const backend_fusion_ops fusion = {
    .runs_at = cuda_runs_at, .same_as = cuda_same_as, .is_bound = cuda_is_bound};
static const backend_note_ops note = {.done_by = cuda_done_by, .operand_bytes = cuda_operand_bytes};

const backend_ops backend_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .load = cuda_load,
    .unload = cuda_unload,
    .value_bytes = cuda_value_bytes,
    .can_run_inplace = cuda_can_run_inplace,
    .can_alias = cuda_can_alias,
    .prepare = cuda_prepare,
    .fingerprint = cuda_fingerprint,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .guards = cuda_guards,
    .describe = device_describe,
    .queue = &cuda_queue_ops,
    .fault = &cuda_fault_ops,
    .recorder = &cuda_recorder_ops,
    .stopwatch = &cuda_stopwatch_ops,
    .optimizer = &cuda_optimizer_ops,
    .group = &cuda_group_ops,
    .fusion = &fusion,
    .note = &note,
};
