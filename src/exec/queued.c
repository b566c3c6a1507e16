/*
 * The walk over a device that computes apart, with memory of its own. The host runs ahead: at every
 * node it only says what is to be done, in three queues,
 *
 *     UP       inputs; weights, part by part, as `need` gives them        (compute follows)
 *     COMPUTE  kernels
 *     DOWN     kept values; gradients, part by part, once they are made   (follows compute)
 *
 * and hands a part to `ready` when its gradient has landed, in the order of the parts' events. So
 * copies go on beside kernels, and kept values are on the host before the first part that is ready
 * after them, as is the word about data that no kernel could work with: no part is handed over that
 * comes of such data. A part's weights go up only when `need` names another edition than the device
 * has. A run ends when all queues are empty, which is why the next one may write wherever it likes.
 */
#include "common/base/alloc.h"
#include "exec/state.h"

#include <stdlib.h>

/* One run, on its way. */
typedef struct walk {
    exec *e;
    const variant *v;
    const exec_hooks *hooks;
    size_t needed;          /* events of v->need that were seen to */
    size_t sent, delivered; /* of v->ready: on their way down; handed over */
} walk;

static const backend_async *async_of(const exec *e)
{
    return e->ops->async;
}

static size_t part_bytes(const exec *e, int32_t part)
{
    return (size_t)flat_part_elements(e->flat, part) * sizeof(float);
}

/* --- what it consists of --- */

static status create_events(exec *e, queued *q, error *err)
{
    size_t n = e->flat ? (size_t)e->flat->n_live_parts : 0;
    q->landed = xcalloc(n + 1, sizeof *q->landed);
    TRY(async_of(e)->event_create(e->device, &q->arrived, err));
    TRY(async_of(e)->event_create(e->device, &q->made, err));
    TRY(async_of(e)->event_create(e->device, &q->end, err));
    for (size_t i = 0; i < n; i++)
        TRY(async_of(e)->event_create(e->device, &q->landed[i], err));
    return OK;
}

static void forget_parts(queued *q, const flat *f)
{
    for (int32_t p = 0; f && p < f->n_parts; p++)
        q->editions[p] = -1;
}

/* Without pinning copies up take a detour, and are right all the same: somebody else may have
 * pinned the memory already, or the system may not let us. */
static void pin(exec *e, const float *flat_values)
{
    queued *q = e->queued;
    void *memory = (void *)(uintptr_t)flat_values;
    if (q->pinned == memory)
        return;
    if (q->pinned)
        async_of(e)->unpin(e->device, q->pinned);
    q->pinned = NULL;
    if (memory && e->memory.param &&
        async_of(e)->pin(e->device, memory, e->memory.param, NULL) == OK)
        q->pinned = memory;
}

void queued_bind(exec *e, const float *flat_values)
{
    pin(e, flat_values);
    forget_parts(e->queued, e->flat);
}

/* A word for each part, about all that ran before it was ready, and one for the run. */
static size_t n_faults(const exec *e)
{
    return (e->flat ? (size_t)e->flat->n_live_parts : 0) + 1;
}

status queued_create(exec *e, queued **ret, error *err)
{
    const exec_memory *m = &e->memory;
    size_t faults = n_faults(e) * sizeof(uint64_t);
    queued *q = *ret = xcalloc(1, sizeof *q);
    q->editions = xcalloc(e->flat ? (size_t)e->flat->n_parts + 1 : 1, sizeof *q->editions);
    forget_parts(q, e->flat);
    TRY(e->ops->alloc(e->device, SPACE_DEVICE, m->param, "parameters", &q->params, err));
    TRY(e->ops->alloc(e->device, SPACE_HOST, m->io, "inputs and outputs on the host", &q->io, err));
    TRY(e->ops->alloc(e->device, SPACE_HOST, m->grad, "gradients on the host", &q->grad, err));
    TRY(e->ops->alloc(e->device, SPACE_HOST, faults, "words about bad data", &q->faults, err));
    return create_events(e, q, err);
}

void queued_destroy(exec *e, queued **queued_)
{
    queued *q = *queued_;
    if (!q)
        return;
    for (size_t i = 0; q->landed && e->flat && i < (size_t)e->flat->n_live_parts; i++)
        async_of(e)->event_destroy(e->device, &q->landed[i]);
    async_of(e)->event_destroy(e->device, &q->arrived);
    async_of(e)->event_destroy(e->device, &q->made);
    async_of(e)->event_destroy(e->device, &q->end);
    pin(e, NULL);
    e->ops->release(e->device, SPACE_DEVICE, q->params);
    e->ops->release(e->device, SPACE_HOST, q->io);
    e->ops->release(e->device, SPACE_HOST, q->grad);
    e->ops->release(e->device, SPACE_HOST, q->faults);
    free(q->landed);
    free(q->editions);
    free(q);
    *queued_ = NULL;
}

void *queued_host_address(const exec *e, const variant *v, graph_val id)
{
    const plan_place *place = plan_place_of(v->plan, id);
    switch (place->slab) {
    case SLAB_IO:
        return (char *)e->queued->io + place->offset;
    case SLAB_GRAD:
        return (char *)e->queued->grad + place->offset;
    case SLAB_PARAM:
        return (char *)(uintptr_t)e->params + place->offset;
    case SLAB_CONST:
        return (void *)(uintptr_t)graph_value_at(v->graph, id)->data;
    default:
        BUG("'%s' is kept, and lies where nobody may look", graph_value_at(v->graph, id)->name);
    }
}

/* --- up --- */

static status copy_up(const exec *e, void *to, const void *from, size_t bytes, error *err)
{
    return bytes ? async_of(e)->copy(e->device, QUEUE_UP, to, from, bytes, err) : OK;
}

/* Kernels from here on find what was copied up until now. */
static status compute_after_up(const exec *e, error *err)
{
    TRY(async_of(e)->mark(e->device, QUEUE_UP, e->queued->arrived, err));
    return async_of(e)->follow(e->device, QUEUE_COMPUTE, e->queued->arrived, err);
}

static status send_inputs(const walk *w, error *err)
{
    for (graph_val i = 0; i < graph_n_values(w->v->graph); i++) {
        const plan_place *place = plan_place_of(w->v->plan, i);
        if (graph_value_at(w->v->graph, i)->kind == VAL_INPUT && place->materialised)
            TRY(copy_up(w->e, w->v->addresses[i], queued_host_address(w->e, w->v, i), place->bytes,
                        err));
    }
    return compute_after_up(w->e, err);
}

/* Without the hook nobody says what has changed: everything goes up. */
static status need_part(const walk *w, int32_t part, bool *ret_sent, error *err)
{
    const exec *e = w->e;
    int64_t edition = -1, *on_device = &e->queued->editions[part];
    if (w->hooks && w->hooks->need)
        TRY(w->hooks->need(w->hooks->user, part, &edition, err));
    if (edition >= 0 && edition == *on_device)
        return OK;
    int64_t begin = e->flat->parts[part].begin;
    *on_device = -1;
    TRY(copy_up(e, (float *)e->queued->params + begin, e->params + begin, part_bytes(e, part),
                err));
    *on_device = edition;
    *ret_sent = true;
    return OK;
}

static status need_parts(walk *w, int32_t node, error *err)
{
    const part_events *events = &w->v->need;
    bool sent = false;
    for (; w->needed < events->n && events->items[w->needed].node == node; w->needed++)
        TRY(need_part(w, events->items[w->needed].part, &sent, err));
    return sent ? compute_after_up(w->e, err) : OK;
}

/* --- down --- */

/* Copies down from here on find what kernels have made until now. */
static status down_after_compute(const exec *e, error *err)
{
    TRY(async_of(e)->mark(e->device, QUEUE_COMPUTE, e->queued->made, err));
    return async_of(e)->follow(e->device, QUEUE_DOWN, e->queued->made, err);
}

static bool is_kept(const variant *v, graph_val id)
{
    if (id == GRAPH_NONE || !graph_value_at(v->graph, id)->keep)
        return false;
    const plan_place *place = plan_place_of(v->plan, id);
    return place->slab == SLAB_IO && place->materialised && place->bytes > 0;
}

static status fetch_kept(const walk *w, int32_t node, error *err)
{
    const graph_node *n = graph_node_at(w->v->graph, node);
    bool follows = false;
    for (int32_t i = 0; i < n->n_out; i++) {
        graph_val id = n->out[i];
        if (!is_kept(w->v, id))
            continue;
        if (!follows)
            TRY(down_after_compute(w->e, err));
        follows = true;
        TRY(async_of(w->e)->copy(w->e->device, QUEUE_DOWN, queued_host_address(w->e, w->v, id),
                                 w->v->addresses[id], plan_place_of(w->v->plan, id)->bytes, err));
    }
    return OK;
}

static status fetch_part(const walk *w, int32_t part, error *err)
{
    const exec *e = w->e;
    int64_t begin = e->flat->parts[part].begin;
    return async_of(e)->copy(e->device, QUEUE_DOWN, (float *)e->queued->grad + begin,
                             (const float *)e->slabs[SLAB_GRAD] + begin, part_bytes(e, part), err);
}

static status fetch_fault(const exec *e, size_t i, error *err)
{
    return async_of(e)->copy(e->device, QUEUE_DOWN, (uint64_t *)e->queued->faults + i,
                             async_of(e)->fault(e->device), sizeof(uint64_t), err);
}

static status check_fault(const walk *w, size_t i, error *err)
{
    return async_of(w->e)->fault_status(w->v->program, ((const uint64_t *)w->e->queued->faults)[i],
                                        err);
}

/* The part's event says too that nothing reads its weights any more. */
static status fetch_parts(walk *w, int32_t node, error *err)
{
    const part_events *events = &w->v->ready;
    if (w->sent < events->n && events->items[w->sent].node == node)
        TRY(down_after_compute(w->e, err));
    for (; w->sent < events->n && events->items[w->sent].node == node; w->sent++) {
        if (w->e->memory.grad)
            TRY(fetch_part(w, events->items[w->sent].part, err));
        TRY(fetch_fault(w->e, w->sent, err));
        TRY(async_of(w->e)->mark(w->e->device, QUEUE_DOWN, w->e->queued->landed[w->sent], err));
    }
    return OK;
}

/* Hands over what has landed; with `all`, waits for the rest. */
static status deliver(walk *w, bool all, error *err)
{
    const exec *e = w->e;
    for (; w->delivered < w->sent; w->delivered++) {
        const backend_event *landed = e->queued->landed[w->delivered];
        bool reached = true;
        if (all)
            TRY(async_of(e)->wait(e->device, landed, err));
        else
            TRY(async_of(e)->reached(e->device, landed, &reached, err));
        if (!reached)
            return OK;
        TRY(check_fault(w, w->delivered, err));
        TRY(hooks_ready(w->hooks, e->flat, w->v->ready.items[w->delivered].part,
                        e->memory.grad ? e->queued->grad : NULL, err));
    }
    return OK;
}

/* --- the run --- */

static status give_nodes(walk *w, error *err)
{
    int32_t n_nodes = graph_n_nodes(w->v->graph);
    TRY(async_of(w->e)->fault_clear(w->e->device, err));
    TRY(send_inputs(w, err));
    for (int32_t node = 0; node < n_nodes; node++) {
        if (hooks_cancelled(w->hooks))
            return FAIL(err, E_LOST, "cancelled");
        TRY(need_parts(w, node, err));
        TRY(variant_run_node(w->v, node, w->e->workspace, err));
        TRY(fetch_kept(w, node, err));
        TRY(fetch_parts(w, node, err));
        TRY(deliver(w, false, err));
    }
    TRY(fetch_parts(w, n_nodes, err));
    return deliver(w, true, err);
}

/* Returns when the queues are empty: DOWN follows the last kernel, and kernels all that went up. */
static status finish(const exec *e, error *err)
{
    TRY(compute_after_up(e, err));
    TRY(down_after_compute(e, err));
    TRY(fetch_fault(e, n_faults(e) - 1, err));
    TRY(async_of(e)->mark(e->device, QUEUE_DOWN, e->queued->end, err));
    return async_of(e)->wait(e->device, e->queued->end, err);
}

status exec_run_queued(exec *e, const variant *v, const exec_hooks *hooks, error *err)
{
    walk w = {.e = e, .v = v, .hooks = hooks};
    status st = give_nodes(&w, err);
    status end = finish(e, st == OK ? err : NULL);
    if (end != OK)
        forget_parts(e->queued, e->flat);
    TRY(st);
    TRY(end);
    return check_fault(&w, n_faults(e) - 1, err);
}
