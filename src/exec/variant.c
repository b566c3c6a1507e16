#include "exec/variant.h"

#include "exec/variant_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static status check_param(const graph_value *value, const flat *layout, error *err)
{
    if (!layout)
        return FAIL(err, E_CONFIG, "parameter '%s': there is no flat vector to read it from",
                    value->name);
    int32_t tensor = flat_find(layout, value->name);
    if (tensor < 0)
        return FAIL(err, E_CONFIG, "parameter '%s' is not in the flat vector", value->name);
    const tensor_decl *decl = &layout->tensors[tensor];
    graph_shape declared = {.rank = decl->rank};
    for (int32_t i = 0; i < decl->rank; i++)
        declared.dim[i] = decl->dim[i];
    if (!graph_shape_equal(&declared, &value->shape)) {
        char here[128], there[128];
        return FAIL(err, E_CONFIG, "parameter '%s' is %s here and %s in the flat vector",
                    value->name, graph_shape_text(&value->shape, here, sizeof here),
                    graph_shape_text(&declared, there, sizeof there));
    }
    if (decl->kind != value->param->kind)
        return FAIL(err, E_CONFIG, "parameter '%s' is of another kind in the flat vector",
                    value->name);
    return OK;
}

/* A run must fill the whole live range, or a step would sum what another variant left there. */
static status check_gradients(const graph *g, const flat *layout, error *err)
{
    for (int32_t t = 0; t < layout->n_tensors; t++) {
        const tensor_decl *decl = &layout->tensors[t];
        if (decl->kind == TENSOR_FROZEN)
            continue;
        graph_val v = graph_find(g, decl->name);
        if (v == GRAPH_NONE || graph_value_at(g, v)->grad == GRAPH_NONE)
            return FAIL(err, E_CONFIG, "no gradient is made for '%s' of the flat vector",
                        decl->name);
    }
    return OK;
}

static status check_layout(const graph *g, const flat *layout, error *err)
{
    bool has_gradients = false;
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_PARAM)
            continue;
        TRY(check_param(value, layout, err));
        has_gradients = has_gradients || value->grad != GRAPH_NONE;
    }
    return has_gradients ? check_gradients(g, layout, err) : OK;
}

static status make_plan(variant *v, const flat *layout, error *err)
{
    variant_wishes wishes;
    variant_wishes_init(&wishes, v, layout);
    status st = plan_create(v->graph, &wishes.plan, &v->plan, err);
    variant_wishes_fini(&wishes);
    return st;
}

static status prepare_kernels(variant *v, error *err)
{
    int32_t n_nodes = graph_n_nodes(v->graph);
    v->kernels = xcalloc((size_t)n_nodes + 1, sizeof *v->kernels);
    for (int32_t i = 0; i < n_nodes; i++) {
        TRYF(v->backend->prepare(v->program, i, &v->kernels[i], err), err, "%s",
             graph_node_at(v->graph, i)->name);
        if (v->kernels[i].workspace_bytes > v->workspace_bytes)
            v->workspace_bytes = v->kernels[i].workspace_bytes;
    }
    return OK;
}

static void write_constants(const variant *v, char *slab)
{
    for (graph_val i = 0; i < graph_n_values(v->graph); i++) {
        const graph_value *value = graph_value_at(v->graph, i);
        const plan_place *place = plan_place_of(v->plan, i);
        if (value->kind != VAL_CONST || !place->materialised)
            continue;
        size_t bytes = (size_t)graph_shape_elements(&value->shape) * dtype_bytes(value->dtype);
        BUG_ON(place->bytes < bytes);
        if (bytes)
            memcpy(slab + place->offset, value->data, bytes);
    }
}

/* Over a copy on the host, which is let go when the device has it. */
static status send_constants(const variant *v, size_t slab, error *err)
{
    const backend_queue_ops *queue = v->backend->queue;
    backend_event *sent = NULL;
    void *copy = NULL;
    status st;
    TRY_OUT(st, v->backend->alloc(v->device, SPACE_HOST, slab, "constants", &copy, err));
    write_constants(v, copy);
    TRY_OUT(st, queue->event_create(v->device, &sent, err));
    TRY_OUT(st, queue->copy(v->device, QUEUE_UP, v->constants, copy, slab, err));
    TRY_OUT(st, queue->mark(v->device, QUEUE_UP, sent, err));
    TRY_OUT(st, queue->wait(v->device, sent, err));
out:
    queue->event_destroy(v->device, &sent);
    v->backend->release(v->device, SPACE_HOST, copy);
    return st;
}

/* Each variant has constants of its own: two batch sizes may well differ in them. */
static status place_constants(variant *v, error *err)
{
    size_t slab = plan_slab_bytes(v->plan, SLAB_CONST);
    TRY(v->backend->alloc(v->device, SPACE_DEVICE, slab, "constants", &v->constants, err));
    if (v->backend->queue)
        return slab ? send_constants(v, slab, err) : OK;
    write_constants(v, v->constants);
    return OK;
}

static int event_order(const void *a, const void *b)
{
    const part_event *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

static void schedule_parts(variant *v, const flat *layout)
{
    size_t n_parts = layout ? (size_t)layout->n_parts : 0;
    v->need.items = xcalloc(n_parts + 1, sizeof *v->need.items);
    v->ready.items = xcalloc(n_parts + 1, sizeof *v->ready.items);
    for (int32_t part = 0; part < (int32_t)n_parts; part++) {
        int32_t need = plan_part_need_before(v->plan, part);
        if (need >= 0)
            v->need.items[v->need.n++] = (part_event){need, part};
        if (layout->parts[part].frozen)
            continue;
        int32_t ready = plan_part_ready_after(v->plan, part);
        if (ready < 0)
            ready = graph_n_nodes(v->graph);
        v->ready.items[v->ready.n++] = (part_event){ready, part};
    }
    qsort(v->need.items, v->need.n, sizeof *v->need.items, event_order);
    qsort(v->ready.items, v->ready.n, sizeof *v->ready.items, event_order);
}

/* Of n places in the order of a run the i-th, from 0: the first, the second, the fourth .. stay, and likewise
 * from the last one backwards. */
static bool is_kept_apart(size_t i, size_t n)
{
    size_t from_end = i + 1 < n - i ? i + 1 : n - i;
    return (from_end & (from_end - 1)) == 0;
}

/* In front of nodes where parts are needed, or (`behind` 1) behind those where they are ready. */
static void cut_at(const part_events *e, int32_t behind, bool *is_cut)
{
    size_t n = 0, i = 0;
    for (size_t k = 0; k < e->n; k++)
        n += !k || e->items[k].node != e->items[k - 1].node;
    for (size_t k = 0; k < e->n; k++)
        if (!k || e->items[k].node != e->items[k - 1].node)
            is_cut[e->items[k].node + behind] |= is_kept_apart(i++, n);
}

void variant_cut(variant *v, bool at_once)
{
    int32_t n_nodes = graph_n_nodes(v->graph), first = 0;
    bool *is_cut = xcalloc((size_t)n_nodes + 2, sizeof *is_cut);
    if (!at_once)
        cut_at(&v->need, 0, is_cut);
    cut_at(&v->ready, 1, is_cut);
    free(v->segments);
    v->segments = xcalloc((size_t)n_nodes + 1, sizeof *v->segments);
    v->n_segments = 0;
    for (int32_t end = 1; end <= n_nodes; end++)
        if (is_cut[end] || end == n_nodes) {
            v->segments[v->n_segments++] = (segment){.first = first, .end = end};
            first = end;
        }
    free(is_cut);
}

static void list_kept(variant *v)
{
    v->kept = xcalloc((size_t)graph_n_values(v->graph) + 1, sizeof *v->kept);
    for (graph_val i = 0; i < graph_n_values(v->graph); i++) {
        const plan_place *place = plan_place_of(v->plan, i);
        const graph_value *value = graph_value_at(v->graph, i);
        if (value->keep && value->kind == VAL_TEMP && place->slab == SLAB_IO && place->bytes > 0)
            v->kept[v->n_kept++] = i;
    }
}

status variant_load(variant *v, const backend_ops *ops, backend *device, const graph *g,
                    const flat *layout, error *err)
{
    v->graph = g;
    v->backend = ops;
    v->device = device;
    TRY(check_layout(g, layout, err));
    TRY(ops->load(device, g, &v->program, err));
    TRY(make_plan(v, layout, err));
    TRY(prepare_kernels(v, err));
    TRY(place_constants(v, err));
    list_kept(v);
    schedule_parts(v, layout);
    v->addresses = xcalloc((size_t)graph_n_values(g) + 1, sizeof *v->addresses);
    v->in_flat = xcalloc((size_t)graph_n_values(g) + 1, sizeof *v->in_flat);
    return OK;
}

static void destroy_segments(variant *v)
{
    for (size_t i = 0; i < v->n_segments; i++) {
        segment *s = &v->segments[i];
        if (s->recorded)
            v->backend->recorder->destroy(v->device, &s->recorded);
        if (s->timed)
            v->backend->recorder->destroy(v->device, &s->timed);
        if (s->stopwatch)
            v->backend->stopwatch->destroy(v->device, &s->stopwatch);
    }
    free(v->segments);
}

void variant_unload(variant *v)
{
    destroy_segments(v);
    node_times_destroy(&v->times);
    if (v->program)
        v->backend->unload(&v->program);
    plan_destroy(&v->plan);
    free(v->kernels);
    free(v->addresses);
    free(v->in_flat);
    free(v->kept);
    if (v->device)
        v->backend->release(v->device, SPACE_DEVICE, v->constants);
    for (graph_val i = 0; v->apart && i < graph_n_values(v->graph); i++)
        v->backend->release(v->device, SPACE_UNCLEARED, v->apart[i]);
    free(v->apart);
    free(v->need.items);
    free(v->ready.items);
    graph_destroy(&v->shrunk);
    *v = (variant){0};
}

void variant_resolve(variant *v, void *const slabs[SLAB_COUNT])
{
    v->n_in_flat = 0;
    for (graph_val i = 0; i < graph_n_values(v->graph); i++) {
        const plan_place *place = plan_place_of(v->plan, i);
        if (!place->materialised)
            continue;
        if (place->slab == SLAB_PARAM) {
            v->in_flat[v->n_in_flat++] = i;
            continue;
        }
        if (place->slab == SLAB_TEMP && v->apart) {
            v->addresses[i] = v->apart[plan_aliased(v->plan, i)];
            continue;
        }
        char *slab = place->slab == SLAB_CONST ? v->constants : slabs[place->slab];
        v->addresses[i] = slab + place->offset;
    }
}

void variant_bind(variant *v, const float *flat_values)
{
    /* Kernels take one table of writable addresses; none of them writes a parameter. */
    char *base = (char *)(uintptr_t)flat_values;
    for (size_t i = 0; i < v->n_in_flat; i++) {
        graph_val value = v->in_flat[i];
        v->addresses[value] = base ? base + plan_place_of(v->plan, value)->offset : NULL;
    }
}

status variant_time_nodes(variant *v, error *err)
{
    TRYF(node_times_create(v->backend, v->device, v->kernels, graph_n_nodes(v->graph), &v->times, err), err,
         "nodes cannot be timed");
    return OK;
}

status variant_run_node(const variant *v, int32_t node, bool timed, void *workspace, error *err)
{
    const backend_kernel *k = &v->kernels[node];
    if (!k->run)
        return OK;
    status st = timed ? node_times_run(v->times, node, v->addresses, workspace, err)
                      : k->run(k->state, v->addresses, workspace, err);
    if (st != OK)
        error_prepend(err, "%s", graph_node_at(v->graph, node)->name);
    return st;
}
