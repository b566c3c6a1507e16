#include "backend/cuda/cuda.h"

#include "backend/cuda/device/device.h"
#include "backend/cuda/library/api.h"
#include "backend/cuda/library/dnn.h"
#include "backend/cuda/library/lt.h"
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/load/storage.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cuda_plan plan_of[OP_COUNT] = {
    [OP_CONV] = cuda_plan_conv,
    [OP_CONV_TRANSPOSE] = cuda_plan_conv_bwd_data,
    [OP_LSTM] = cuda_plan_recurrent,
    [OP_GRU] = cuda_plan_recurrent,
    [OP_RNN] = cuda_plan_recurrent,
    [OP_MAX_POOL] = cuda_plan_pool,
    [OP_AVERAGE_POOL] = cuda_plan_pool,
    [OP_LP_POOL] = cuda_plan_pool,
    [OP_GLOBAL_AVERAGE_POOL] = cuda_plan_pool,
    [OP_GROUP_NORMALIZATION] = cuda_plan_group_norm,
    [OP_INSTANCE_NORMALIZATION] = cuda_plan_group_norm,
    [OP_LRN] = cuda_plan_lrn,
    [OP_GEMM] = cuda_plan_product,
    [OP_MATMUL] = cuda_plan_product,
    [OP_CONCAT] = cuda_plan_concat,
    [OP_EXPAND] = cuda_plan_move,
    [OP_SLICE] = cuda_plan_move,
    [OP_SLICE_BWD] = cuda_plan_slice_bwd,
    [OP_TRANSPOSE] = cuda_plan_move,
    [OP_ONE_HOT] = cuda_plan_one_hot,
    [OP_REVERSE_SEQUENCE] = cuda_plan_reverse_sequence,
    [OP_TRILU] = cuda_plan_trilu,
    [OP_GRID_SAMPLE] = cuda_plan_grid_sample,
    [OP_GRID_SAMPLE_BWD] = cuda_plan_grid_sample_bwd,
    [OP_PAD] = cuda_plan_pad,
    [OP_PAD_BWD] = cuda_plan_resample,
    [OP_RESIZE] = cuda_plan_resample,
    [OP_RESIZE_BWD] = cuda_plan_resample,
    [OP_ADD] = cuda_plan_binary,
    [OP_SUB] = cuda_plan_binary,
    [OP_MUL] = cuda_plan_binary,
    [OP_DIV] = cuda_plan_binary,
    [OP_MIN] = cuda_plan_binary,
    [OP_MAX] = cuda_plan_binary,
    [OP_MOD] = cuda_plan_binary,
    [OP_POW] = cuda_plan_binary,
    [OP_PRELU] = cuda_plan_binary,
    [OP_SIGMOID_CROSS_ENTROPY] = cuda_plan_binary,
    [OP_WHERE] = cuda_plan_where,
    [OP_CAST] = cuda_plan_cast,
    [OP_EQUAL] = cuda_plan_compare,
    [OP_LESS] = cuda_plan_compare,
    [OP_LESS_OR_EQUAL] = cuda_plan_compare,
    [OP_GREATER] = cuda_plan_compare,
    [OP_GREATER_OR_EQUAL] = cuda_plan_compare,
    [OP_AND] = cuda_plan_compare,
    [OP_OR] = cuda_plan_compare,
    [OP_XOR] = cuda_plan_compare,
    [OP_NOT] = cuda_plan_compare,
    [OP_IS_NAN] = cuda_plan_compare,
    [OP_IS_INF] = cuda_plan_compare,
    [OP_NEG] = cuda_plan_unary,
#define SMOOTH(ID, name, onnx, reads, attr)                                                        \
    [OP_##ID] = cuda_plan_unary, [OP_##ID##_BWD] = cuda_plan_unary,
#define STEP(ID, name, onnx) [OP_##ID] = cuda_plan_unary,
#include "graph/unary.def"
    [OP_SOFTMAX] = cuda_plan_softmax,
    [OP_LOG_SOFTMAX] = cuda_plan_softmax,
    [OP_SOFTMAX_CROSS_ENTROPY_LOSS] = cuda_plan_loss,
    [OP_ACCURACY] = cuda_plan_accuracy,
    [OP_BATCH_NORMALIZATION] = cuda_plan_batch_norm,
    [OP_LAYER_NORMALIZATION] = cuda_plan_row_norm,
    [OP_RMS_NORMALIZATION] = cuda_plan_row_norm,
    [OP_ATTENTION] = cuda_plan_attention,
    [OP_ROTARY_EMBEDDING] = cuda_plan_rotary,
    [OP_DROPOUT] = cuda_plan_dropout,
    [OP_FLATTEN] = cuda_plan_copy,
    [OP_RESHAPE] = cuda_plan_copy,
    [OP_REDUCE_MEAN] = cuda_plan_reduce,
    [OP_REDUCE_SUM] = cuda_plan_reduce,
    [OP_REDUCE_MAX] = cuda_plan_reduce,
    [OP_REDUCE_MIN] = cuda_plan_reduce,
    [OP_REDUCE_PROD] = cuda_plan_reduce,
    [OP_REDUCE_L1] = cuda_plan_reduce,
    [OP_REDUCE_L2] = cuda_plan_reduce,
    [OP_REDUCE_SUM_SQUARE] = cuda_plan_reduce,
    [OP_REDUCE_LOG_SUM] = cuda_plan_reduce,
    [OP_REDUCE_LOG_SUM_EXP] = cuda_plan_reduce,
    [OP_ARG_MAX] = cuda_plan_along,
    [OP_ARG_MIN] = cuda_plan_along,
    [OP_HARDMAX] = cuda_plan_along,
    [OP_CUM_SUM] = cuda_plan_along,
    [OP_IDENTITY] = cuda_plan_copy,
    [OP_TO_HALF] = cuda_plan_to_half,
    [OP_GATHER] = cuda_plan_gather,
    [OP_GATHER_ELEMENTS] = cuda_plan_gather,
    [OP_GATHER_ND] = cuda_plan_gather,
    [OP_SCATTER_ELEMENTS] = cuda_plan_scatter,
    [OP_SCATTER_ND] = cuda_plan_scatter,
    [OP_TOP_K] = cuda_plan_top_k,
    [OP_ZERO] = cuda_plan_copy,
    [OP_CONV_BWD_DATA] = cuda_plan_conv_bwd_data,
    [OP_CONV_BWD_WEIGHTS] = cuda_plan_conv_bwd_weights,
    [OP_LSTM_BWD] = cuda_plan_recurrent,
    [OP_GRU_BWD] = cuda_plan_recurrent,
    [OP_RNN_BWD] = cuda_plan_recurrent,
    [OP_MAX_POOL_BWD] = cuda_plan_pool,
    [OP_AVERAGE_POOL_BWD] = cuda_plan_pool,
    [OP_LP_POOL_BWD] = cuda_plan_pool,
    [OP_GROUP_NORMALIZATION_BWD] = cuda_plan_group_norm,
    [OP_LRN_BWD] = cuda_plan_lrn,
    [OP_MIN_BWD] = cuda_plan_where,
    [OP_MAX_BWD] = cuda_plan_where,
    [OP_PRELU_BWD] = cuda_plan_where,
    [OP_SIGMOID_CROSS_ENTROPY_BWD] = cuda_plan_where,
    [OP_SOFTMAX_BWD] = cuda_plan_softmax,
    [OP_LOG_SOFTMAX_BWD] = cuda_plan_softmax,
    [OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD] = cuda_plan_loss_bwd,
    [OP_BATCH_NORMALIZATION_BWD] = cuda_plan_batch_norm_bwd,
    [OP_LAYER_NORMALIZATION_BWD] = cuda_plan_row_norm_bwd,
    [OP_RMS_NORMALIZATION_BWD] = cuda_plan_row_norm_bwd,
    [OP_ATTENTION_BWD] = cuda_plan_attention_bwd,
    [OP_DROPOUT_BWD] = cuda_plan_dropout,
    [OP_GATHER_BWD] = cuda_plan_gather_bwd,
    [OP_REDUCE_PROD_BWD] = cuda_plan_reduce_prod_bwd,
    [OP_SUM_TO] = cuda_plan_reduce,
};

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
    status st = queues_open(b, err);
    if (st == OK)
        *ret = b;
    else
        cuda_close(&b);
    return st;
}

/* --- loading --- */

static void cuda_unload(backend_program **p)
{
    if (!*p)
        return;
    dnn_graphs_destroy(*p);
    lt_products_destroy(*p);
    cuda_tables_release(*p);
    arena_destroy(&(*p)->arena);
    free(*p);
    *p = NULL;
}

static void begin_node(backend_program *p, int32_t index)
{
    cuda_node *n = &p->nodes[index];
    n->program = p;
    n->node = graph_node_at(p->g, index);
    n->fault_node = (uint64_t)index << 32;
    n->in = arena_alloc(p->arena, (size_t)graph_node_slots(n->node) * sizeof *n->in);
    n->out = arena_alloc(p->arena, (size_t)n->node->n_out * sizeof *n->out);
}

/* What it reads and writes, with room for that of its group. */
static void list_values(backend_program *p, cuda_node *n)
{
    const cuda_group *group = p->group[n - p->nodes];
    n->n_reads = graph_node_slots(n->node);
    n->n_writes = n->node->n_out;
    size_t n_reads = (size_t)n->n_reads, n_writes = (size_t)n->n_writes;
    n_reads += group ? 2 * CHAIN_READS : 0;
    n_writes += group ? 2 * CHAIN_WRITES : 0;
    n->reads = arena_alloc(p->arena, n_reads * sizeof *n->reads);
    n->writes = arena_alloc(p->arena, n_writes * sizeof *n->writes);
    n->call.in = arena_alloc(p->arena, n_reads * sizeof *n->call.in);
    n->call.out = arena_alloc(p->arena, n_writes * sizeof *n->call.out);
    for (int32_t i = 0; i < n->n_reads; i++)
        n->reads[i] = i < n->node->n_in ? n->node->in[i] : GRAPH_NONE;
    memcpy(n->writes, n->node->out, (size_t)n->n_writes * sizeof *n->writes);
}

static status check_types(const cuda_node *n, error *err)
{
    bool rounded = n->node->op == OP_TO_HALF || graph_op_of(n->node->op)->traits & OP_ALIAS;
    for (int i = 0; i < n->node->n_out; i++) {
        const graph_value *v = cuda_out(n, i);
        if (v && (v->dtype == DT_F64 || (dtype_is_half(v->dtype) && !rounded)))
            return FAIL(err, E_UNSUPPORTED, "it makes %s; the only floating type known is float32",
                        dtype_name(v->dtype));
    }
    return OK;
}

/* The last of a group is the spine from now on. */
static void take_spine(cuda_node *n, const cuda_node *spine)
{
    uint64_t fault_node = n->fault_node;
    *n = *spine;
    n->fault_node = fault_node;
}

/* The others of a group have nothing to run. */
static status plan_group(backend_program *p, cuda_node *n, const cuda_group *group, error *err)
{
    if (n != &p->nodes[group->last])
        return OK;
    bool is_chain = group->spine == GRAPH_NONE;
    if (is_chain)
        n->n_reads = n->n_writes = 0;
    else
        take_spine(n, &p->nodes[group->spine]);
    if (group->relu_of == GRAPH_NONE)
        n->before = cuda_chain_plan(p, n, &group->before, true);
    n->behind = cuda_chain_plan(p, n, &group->behind, false);
    return is_chain ? cuda_plan_chain(p, n, err) : plan_of[n->node->op](p, n, err);
}

/* Nodes that make no elements have nothing to run. */
static status plan_one(backend_program *p, cuda_node *n, error *err)
{
    const cuda_group *group = p->group[n - p->nodes];
    if (group)
        return plan_group(p, n, group, err);
    bool has_elements = false;
    for (int i = 0; i < n->node->n_out; i++)
        has_elements |= cuda_out(n, i) && p->bytes[n->node->out[i]] > 0;
    if (!has_elements)
        return OK;
    if (!plan_of[n->node->op])
        return FAIL(err, E_UNSUPPORTED, "none for this operator");
    TRY(check_types(n, err));
    return (cuda_node_is_empty(n) ? cuda_plan_empty : plan_of[n->node->op])(p, n, err);
}

/* Every node is tried, so that the message names all that have no kernel. */
static status plan_all(backend_program *p, error *err)
{
    buf missing = BUF_INIT;
    status st = OK;
    for (int32_t i = 0; i < graph_n_nodes(p->g) && st == OK; i++) {
        error why = ERROR_INIT;
        cuda_node *n = &p->nodes[i];
        st = plan_one(p, n, &why);
        storage_finish(n);
        if (st == OK)
            continue;
        if (st != E_UNSUPPORTED) {
            FAIL(err, st, "%s: %s", n->node->name, why.text);
            continue;
        }
        buf_addf(&missing, "%s%s (%s): %s", missing.size ? "; " : "", n->node->name,
                 graph_op_of(n->node->op)->name, why.text);
        st = OK;
    }
    if (st == OK && missing.size)
        st = FAIL(err, E_UNSUPPORTED, "the GPU has no kernel for %s", missing.data);
    buf_fini(&missing);
    return st;
}

static status cuda_load(backend *b, const graph *g, backend_program **ret, error *err)
{
    backend_program *p = xcalloc(1, sizeof *p);
    p->backend = b;
    p->g = g;
    p->arena = arena_create();
    p->nodes = arena_alloc(p->arena, (size_t)graph_n_nodes(g) * sizeof *p->nodes);
    p->group = arena_alloc(p->arena, (size_t)graph_n_nodes(g) * sizeof *p->group);
    p->is_fused = arena_alloc(p->arena, (size_t)graph_n_values(g) * sizeof *p->is_fused);
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        begin_node(p, i);
    storage_choose(p);
    storage_space_rows(p);
    if (b->fuses)
        cuda_fuse(p);
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        list_values(p, &p->nodes[i]);
    status st = storage_measure(p, err);
    if (st == OK)
        st = plan_all(p, err);
    if (st == OK)
        *ret = p;
    else
        cuda_unload(&p);
    return st;
}

/* --- what was loaded --- */

static size_t cuda_value_bytes(const backend_program *p, graph_val v)
{
    return p->bytes[v];
}

static int32_t cuda_runs_at(const backend_program *p, int32_t node)
{
    return p->group[node] ? p->group[node]->last : node;
}

static bool cuda_can_run_inplace(const backend_program *p, int32_t node)
{
    const cuda_node *n = &p->nodes[node];
    return n->takes_inplace && !p->group[node] &&
           p->bytes[n->node->in[graph_node_inplace(n->node)]] == p->bytes[n->node->out[0]];
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
        .run = n->body ? cuda_node_run : NULL,
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

static void cuda_fingerprint(const backend *b, char *ret, size_t bytes)
{
    struct cudaDeviceProp found = {.name = "a GPU that does not answer"};
    const api_found *lt = api_find(API_LT), *dnn = api_find(API_DNN);
    (void)cudaGetDeviceProperties(&found, b->device);
    snprintf(ret, bytes,
             "CUDA %s sm_%d%d %d SMs, runtime %d.%d, cuBLASLt %s, cuDNN %s, halves stored%s",
             found.name, b->arch / 10, b->arch % 10, found.multiProcessorCount,
             CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, lt->path ? lt->version : "none",
             dnn->path ? dnn->version : "none",
             b->fuses ? "" : ", nodes alone");
}

const backend_ops backend_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .load = cuda_load,
    .unload = cuda_unload,
    .value_bytes = cuda_value_bytes,
    .runs_at = cuda_runs_at,
    .can_run_inplace = cuda_can_run_inplace,
    .can_alias = cuda_can_alias,
    .prepare = cuda_prepare,
    .done_by = cuda_done_by,
    .fingerprint = cuda_fingerprint,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .describe = device_describe,
    .async = &cuda_async,
};
