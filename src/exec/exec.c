/*
 * The engine of a lane. A run is one walk over the nodes of a variant, in order; at every node:
 *
 *     cancelled?  ->  need(parts first read here)  ->  the kernel  ->  ready(parts done here)
 *
 * Parts that fall on the same node are reported in ascending order. So each live part is ready
 * exactly once per run, after everything that reads its weights or writes its gradient; a part no
 * node touches is ready at the end. What a run computes does not depend on hooks or on time.
 */
#include "exec/exec.h"

#include "exec/variant.h"

#include <stdlib.h>
#include <string.h>

struct exec {
    const backend_ops *ops;
    backend *device;
    const flat *flat;
    variant *variants;
    size_t n_variants;
    void *slabs[SLAB_COUNT]; /* GRAD, IO and TEMP; the largest any variant needs */
    void *workspace;
    const float *params; /* the caller's */
    exec_memory memory;
};

static size_t largest_slab(const exec *e, plan_slab slab)
{
    size_t most = 0;
    for (size_t i = 0; i < e->n_variants; i++) {
        size_t bytes = plan_slab_bytes(e->variants[i].plan, slab);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void measure(exec *e)
{
    e->memory = (exec_memory){
        .param = e->flat ? (size_t)e->flat->n_elements * sizeof(float) : 0,
        .grad = largest_slab(e, SLAB_GRAD),
        .io = largest_slab(e, SLAB_IO),
        .temp = largest_slab(e, SLAB_TEMP),
    };
    for (size_t i = 0; i < e->n_variants; i++) {
        const variant *v = &e->variants[i];
        e->memory.constant += plan_slab_bytes(v->plan, SLAB_CONST);
        if (v->workspace_bytes > e->memory.workspace)
            e->memory.workspace = v->workspace_bytes;
    }
}

/* mem_alloc zeroes, so this thread touches every page first, and the gaps of the gradient slab,
 * which no kernel writes, stay zero. */
static status allocate(exec *e, error *err)
{
    TRY(mem_alloc(e->memory.grad, "gradients", &e->slabs[SLAB_GRAD], err));
    TRY(mem_alloc(e->memory.io, "inputs and outputs", &e->slabs[SLAB_IO], err));
    TRY(mem_alloc(e->memory.temp, "activations", &e->slabs[SLAB_TEMP], err));
    TRY(mem_alloc(e->memory.workspace, "workspace", &e->workspace, err));
    return OK;
}

static status fill(exec *e, const exec_options *options, error *err)
{
    TRYF(e->ops->open(&options->device, &e->device, err), err, "backend %s", e->ops->name);
    for (; e->n_variants < options->n_graphs; e->n_variants++) {
        variant *v = &e->variants[e->n_variants];
        status st =
            variant_load(v, e->ops, e->device, options->graphs[e->n_variants], e->flat, err);
        if (st != OK) {
            if (options->n_graphs > 1)
                error_prepend(err, "variant %zu", e->n_variants);
            variant_unload(v);
            return st;
        }
    }
    measure(e);
    TRY(allocate(e, err));
    for (size_t i = 0; i < e->n_variants; i++)
        variant_resolve(&e->variants[i], e->slabs);
    return OK;
}

status exec_create(const exec_options *options, exec **ret, error *err)
{
    BUG_ON(!options->backend || options->n_graphs == 0);
    exec *e = xcalloc(1, sizeof *e);
    e->ops = options->backend;
    e->flat = options->flat;
    e->variants = xcalloc(options->n_graphs, sizeof *e->variants);
    status st = fill(e, options, err);
    if (st != OK) {
        exec_destroy(&e);
        return st;
    }
    *ret = e;
    return OK;
}

void exec_destroy(exec **e)
{
    if (!e || !*e)
        return;
    exec *x = *e;
    for (size_t i = 0; i < x->n_variants; i++)
        variant_unload(&x->variants[i]);
    if (x->device)
        x->ops->close(&x->device);
    for (int slab = 0; slab < SLAB_COUNT; slab++)
        mem_free(x->slabs[slab]);
    mem_free(x->workspace);
    free(x->variants);
    free(x);
    *e = NULL;
}

void exec_bind_params(exec *e, const float *flat_values)
{
    e->params = flat_values;
    for (size_t i = 0; i < e->n_variants; i++)
        variant_bind(&e->variants[i], flat_values);
}

void *exec_value(exec *e, size_t variant_index, const char *name, const graph_value **ret_value)
{
    BUG_ON(variant_index >= e->n_variants);
    const variant *v = &e->variants[variant_index];
    graph_val id = graph_find(v->graph, name);
    if (id == GRAPH_NONE)
        return NULL;
    const graph_value *value = graph_value_at(v->graph, id);
    if (value->kind != VAL_INPUT && !value->keep)
        return NULL;
    if (ret_value)
        *ret_value = value;
    return v->addresses[id];
}

float *exec_grad(exec *e)
{
    return e->slabs[SLAB_GRAD];
}

static status need_parts(const exec_hooks *hooks, const part_events *events, size_t *at,
                         int32_t node, error *err)
{
    for (; *at < events->n && events->items[*at].node == node; (*at)++)
        if (hooks && hooks->need)
            TRY(hooks->need(hooks->user, events->items[*at].part, err));
    return OK;
}

static status ready_parts(const exec *e, const exec_hooks *hooks, const part_events *events,
                          size_t *at, int32_t node, error *err)
{
    const float *grad = e->slabs[SLAB_GRAD];
    for (; *at < events->n && events->items[*at].node == node; (*at)++) {
        int32_t part = events->items[*at].part;
        if (hooks && hooks->ready)
            TRY(hooks->ready(hooks->user, part,
                             e->memory.grad ? grad + e->flat->parts[part].begin : NULL, err));
    }
    return OK;
}

status exec_run(exec *e, size_t variant_index, const exec_hooks *hooks, error *err)
{
    BUG_ON(variant_index >= e->n_variants);
    const variant *v = &e->variants[variant_index];
    BUG_ON(v->n_in_flat > 0 && !e->params);
    int32_t n_nodes = graph_n_nodes(v->graph);
    size_t needed = 0, readied = 0;
    for (int32_t node = 0; node < n_nodes; node++) {
        if (hooks && hooks->cancel && atomic_load_explicit(hooks->cancel, memory_order_relaxed))
            return FAIL(err, E_LOST, "cancelled");
        TRY(need_parts(hooks, &v->need, &needed, node, err));
        const backend_kernel *k = &v->kernels[node];
        if (k->run)
            TRYF(k->run(k->state, v->addresses, e->workspace, err), err, "%s",
                 graph_node_at(v->graph, node)->name);
        TRY(ready_parts(e, hooks, &v->ready, &readied, node, err));
    }
    return ready_parts(e, hooks, &v->ready, &readied, n_nodes, err);
}

exec_memory exec_memory_use(const exec *e)
{
    return e->memory;
}

void exec_fingerprint(const exec *e, char *ret, size_t bytes)
{
    e->ops->fingerprint(e->device, ret, bytes);
}
