#include "backend/cuda/load/load.h"

#include "backend/cuda/device/device.h"
#include "backend/cuda/library/dnn.h"
#include "backend/cuda/library/lt.h"
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/load/storage.h"
#include "backend/cuda/plan/attention.h"
#include "backend/cuda/plan/conv.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/thread.h"

#include <stdlib.h>
#include <string.h>

void cuda_unload(backend_program **p)
{
    if (!*p)
        return;
    dnn_graphs_destroy(*p);
    lt_matmuls_destroy(*p);
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

static status plan_by(cuda_plan plan, cuda_node *n, error *err)
{
    n->err = err;
    status st = plan(n);
    n->err = NULL;
    return st;
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
    return plan_by(is_chain ? cuda_plan_chain : cuda_plan_of[n->node->op], n, err);
}

/* Weights are rounded for forward, and for backward once more, which saves memory where rounding costs
 * little. Here it is a pass over memory like others, so the first copy stays. */
static void find_same(backend_program *p)
{
    graph_val *rounded = xcalloc((size_t)graph_n_values(p->g) + 1, sizeof *rounded);
    for (graph_val v = 0; v < graph_n_values(p->g); v++)
        rounded[v] = GRAPH_NONE;
    for (int32_t i = 0; i < graph_n_nodes(p->g); i++) {
        const graph_node *n = graph_node_at(p->g, i);
        if (n->op != OP_TO_HALF || graph_value_at(p->g, n->in[0])->kind == VAL_TEMP)
            continue;
        const graph_value *y = graph_value_at(p->g, n->out[0]);
        graph_val *first = &rounded[n->in[0]];
        if (y->keep)
            continue;
        if (*first == GRAPH_NONE)
            *first = n->out[0];
        else if (graph_value_at(p->g, *first)->dtype == y->dtype)
            p->same_as[n->out[0]] = *first;
    }
    free(rounded);
}

/* Nodes that make no elements have nothing to run, nor those that make what is there. */
static status plan_one(backend_program *p, cuda_node *n, error *err)
{
    const cuda_group *group = p->group[n - p->nodes];
    if (group)
        return plan_group(p, n, group, err);
    bool has_elements = false;
    for (int i = 0; i < n->node->n_out; i++)
        has_elements |= cuda_out(n, i) && p->bytes[n->node->out[i]] > 0 &&
                        p->same_as[n->node->out[i]] == GRAPH_NONE;
    if (!has_elements)
        return OK;
    TRY(check_types(n, err));
    return plan_by(cuda_node_is_empty(n) ? cuda_plan_empty : cuda_plan_of[n->node->op], n, err);
}

static bool is_convolution(graph_op op)
{
    return op == OP_CONV || op == OP_CONV_TRANSPOSE || op == OP_CONV_BWD_DATA || op == OP_CONV_BWD_WEIGHTS;
}

static bool is_attention(graph_op op)
{
    return op == OP_ATTENTION || op == OP_ATTENTION_BWD;
}

/* Engines that make their code take seconds each: those of a network are planned together. */
static void plan_graphs_ahead(backend_program *p)
{
    p->only_asks = true;
    for (int32_t i = 0; i < graph_n_nodes(p->g); i++) {
        cuda_node *n = &p->nodes[i];
        if (is_convolution(n->node->op))
            cuda_conv_ask(n);
        else if (is_attention(n->node->op))
            cuda_attention_ask(n);
    }
    p->only_asks = false;
    dnn_plan_asked(p, (size_t)thread_cpus(), cuda_queue_ops.enter);
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

status cuda_load(backend *b, const graph *g, backend_program **ret, error *err)
{
    backend_program *p = xcalloc(1, sizeof *p);
    p->backend = b;
    p->g = g;
    p->arena = arena_create();
    p->nodes = arena_alloc(p->arena, (size_t)graph_n_nodes(g) * sizeof *p->nodes);
    p->group = arena_alloc(p->arena, (size_t)graph_n_nodes(g) * sizeof *p->group);
    p->is_fused = arena_alloc(p->arena, (size_t)graph_n_values(g) * sizeof *p->is_fused);
    p->same_as = arena_alloc(p->arena, (size_t)graph_n_values(g) * sizeof *p->same_as);
    for (graph_val v = 0; v < graph_n_values(g); v++)
        p->same_as[v] = GRAPH_NONE;
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        begin_node(p, i);
    storage_choose(p);
    storage_space_rows(p);
    if (b->fuses) {
        find_same(p);
        cuda_fuse(p);
    }
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        list_values(p, &p->nodes[i]);
    status st = storage_measure(p, err);
    if (st == OK) {
        plan_graphs_ahead(p);
        st = plan_all(p, err);
    }
    if (st == OK)
        *ret = p;
    else
        cuda_unload(&p);
    return st;
}

status cuda_node_run(void *state, void *const *addresses, void *workspace, error *err)
{
    cuda_node *n = state;
    cuda_call *c = &n->call;
    c->scratch = workspace;
    c->fault = n->program->backend->fault;
    c->stream = n->program->backend->queues[QUEUE_COMPUTE];
    for (int i = 0; i < n->n_reads; i++)
        c->in[i] = n->reads[i] == GRAPH_NONE ? NULL : addresses[n->reads[i]];
    for (int i = 0; i < n->n_writes; i++)
        c->out[i] = n->writes[i] == GRAPH_NONE ? NULL : addresses[n->writes[i]];
    storage_bring(n, c);
    if (n->launch)
        n->launch(n, c);
    else
        TRY(n->body(n, c, err));
    storage_leave(n, c, addresses);
    return device_check(cudaGetLastError(), "the GPU refuses the kernel", err);
}
