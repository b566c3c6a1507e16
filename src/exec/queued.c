/*
 * The walk over a device that computes apart, with memory of its own. The host runs ahead: of every
 * segment of nodes it only says what is to be done, in three queues,
 *
 *     UP       inputs; weights, part by part, as `need` gives them        (compute follows)
 *     COMPUTE  kernels
 *     DOWN     kept values; gradients, part by part, once they are made   (follows compute)
 *
 * and hands a part to `ready` when its gradient has landed, in the order of the parts' events. So
 * copies go on beside kernels, and kept values are on the host before the first part that is ready
 * after them, as is the word about data that no kernel could work with: no part is handed over that
 * comes of such data. A part's weights go up only when `need` names another edition than the device
 * has. Where weights are brought (bring.c) they are in UP by then, and compute only follows them. Of a
 * resident exec neither weights nor gradients cross: they come and are given on the device, at the same
 * events. A run ends when nothing of it is left in the queues, which is why the next one may write
 * wherever it likes; only the inputs of that one, and weights, may be on their way.
 */
#include "exec/trade.h"

/* One run, on its way. */
typedef struct walk {
    exec *e;
    const variant *v;
    const exec_hooks *hooks;
    bool gives;             /* gradients come down */
    size_t needed;          /* events of v->need that were seen to */
    size_t sent, delivered; /* of v->ready: on their way down; handed over */
    trade trade;            /* with other devices, of gradients that do not come down as they are */
} walk;

static const backend_async *async_of(const exec *e)
{
    return e->ops->async;
}

static size_t part_bytes(const exec *e, int32_t part)
{
    return (size_t)flat_part_elements(e->flat, part) * sizeof(float);
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

static status send_part(const exec *e, int32_t part, bool *ret_sent, error *err)
{
    int64_t begin = e->flat->parts[part].begin;
    *ret_sent = true;
    return copy_up(e, (float *)e->queued->params + begin, e->params + begin, part_bytes(e, part), err);
}

/* Without the hook nobody says what has changed: everything goes up. */
static status need_part(const walk *w, int32_t part, bool *ret_sent, error *err)
{
    const exec *e = w->e;
    int64_t edition = -1, *on_device = &e->queued->editions[part];
    if (w->hooks && w->hooks->need)
        TRY(w->hooks->need(w->hooks->user, part, &edition, err));
    if (e->is_resident || (edition >= 0 && edition == *on_device))
        return OK;
    *on_device = -1;
    if (e->is_brought)
        TRY(async_of(e)->follow(e->device, QUEUE_COMPUTE, e->queued->brought[part], err));
    else
        TRY(send_part(e, part, ret_sent, err));
    *on_device = edition;
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

/* A node's kernel may run at a later one's turn. */
static bool is_made_in(const variant *v, graph_val id, const segment *s)
{
    int32_t turn = plan_place_of(v->plan, id)->first;
    return s->first <= turn && turn < s->end;
}

static status fetch_kept(const walk *w, const segment *s, error *err)
{
    const variant *v = w->v;
    bool follows = false;
    for (size_t i = 0; i < v->n_kept; i++) {
        graph_val id = v->kept[i];
        if (!is_made_in(v, id, s))
            continue;
        if (!follows)
            TRY(down_after_compute(w->e, err));
        follows = true;
        TRY(async_of(w->e)->copy(w->e->device, QUEUE_DOWN, queued_host_address(w->e, v, id),
                                 v->addresses[id], plan_place_of(v->plan, id)->bytes, err));
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

static status add_parts(const walk *w, int32_t node, error *err)
{
    const part_events *events = &w->v->ready;
    if (!w->e->memory.grad || !w->hooks || !w->hooks->slot)
        return OK;
    for (size_t i = w->sent; i < events->n && events->items[i].node == node; i++)
        TRY(sums_add(w->e, w->hooks->slot, events->items[i].part, err));
    return OK;
}

/* The part's event says too that nothing reads its weights any more. */
static status fetch_parts(walk *w, int32_t node, error *err)
{
    const part_events *events = &w->v->ready;
    TRY(add_parts(w, node, err));
    if (w->sent < events->n && events->items[w->sent].node == node)
        TRY(down_after_compute(w->e, err));
    for (; w->sent < events->n && events->items[w->sent].node == node; w->sent++) {
        if (w->gives && !w->e->is_resident)
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
        int32_t part = w->v->ready.items[w->delivered].part;
        bool reached = true;
        TRY(trade_go_on(e, &w->trade, w->hooks, err));
        if (all)
            TRY(async_of(e)->wait(e->device, landed, err));
        else
            TRY(async_of(e)->reached(e->device, landed, &reached, err));
        if (!reached)
            return OK;
        TRY(check_fault(w, w->delivered, err));
        TRY(hooks_ready(w->hooks, e->flat, part, w->gives ? exec_grad(w->e) : NULL, err));
        trade_made(&w->trade, part);
    }
    return OK;
}

/* --- the run --- */

static status give_segment(walk *w, const segment *s, error *err)
{
    if (hooks_cancelled(w->hooks))
        return FAIL(err, E_LOST, "cancelled");
    TRY(need_parts(w, s->first, err));
    TRY(segments_play(w->e, w->v, s, err));
    TRY(fetch_kept(w, s, err));
    TRY(fetch_parts(w, s->end - 1, err));
    return deliver(w, false, err);
}

static status give_all(walk *w, error *err)
{
    TRY(async_of(w->e)->fault_clear(w->e->device, err));
    TRY(inputs_take(w->e, w->v, err));
    for (size_t i = 0; i < w->v->n_segments; i++)
        TRY(give_segment(w, &w->v->segments[i], err));
    TRY(fetch_parts(w, graph_n_nodes(w->v->graph), err));
    if (w->hooks && w->hooks->ahead)
        TRY(w->hooks->ahead(w->hooks->user, err));
    TRY(deliver(w, true, err));
    return trade_finish(w->e, &w->trade, w->v, w->hooks, err);
}

/* Returns when nothing of the run is left: DOWN follows the last kernel, and kernels what went up
 * for them. */
static status finish(const exec *e, error *err)
{
    TRY(down_after_compute(e, err));
    TRY(fetch_fault(e, queued_n_faults(e) - 1, err));
    TRY(async_of(e)->mark(e->device, QUEUE_DOWN, e->queued->end, err));
    return async_of(e)->wait(e->device, e->queued->end, err);
}

/* Nobody waits for what went up last. If the device does not answer, what it has is unknown. */
static void give_up(exec *e, trade *t, error *err)
{
    e->queued->next = NULL;
    bool is_left = trade_give_up(e, t, err) == OK;
    if (compute_after_up(e, NULL) != OK || finish(e, NULL) != OK || !is_left)
        queued_forget(e);
}

static bool gives(const exec *e, const exec_hooks *hooks)
{
    const exec_slot *s = hooks ? hooks->slot : NULL;
    return e->memory.grad && (!s || (sums_complete(s) && !s->with));
}

status exec_run_queued(exec *e, const variant *v, const exec_hooks *hooks, error *err)
{
    walk w = {.e = e,
              .v = v,
              .hooks = hooks,
              .gives = gives(e, hooks),
              .trade = trade_of(e, hooks ? hooks->slot : NULL)};
    status st = give_all(&w, err);
    if (st == OK)
        st = finish(e, err);
    if (st != OK) {
        give_up(e, &w.trade, err);
        return st;
    }
    TRY(segments_time(e, v, err));
    return check_fault(&w, queued_n_faults(e) - 1, err);
}
