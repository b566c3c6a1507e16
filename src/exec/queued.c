/*
 * The walk over a device that computes apart, with memory of its own. The host runs ahead: of every
 * segment of nodes it only says what is to be done, in three queues,
 *
 *     UP       inputs; weights, part by part, as `need` gives them        (compute follows)
 *     COMPUTE  kernels
 *     DOWN     kept values; gradients, part by part, once they are made   (follows compute)
 *
 * and hands a part to `ready` when its gradient has landed, in the order of the parts' events. So copies
 * go on beside kernels, and kept values are on the host before the first part that is ready after them,
 * as is the word about data that no kernel could work with: no part is handed over that comes of such
 * data. A part's weights go up only when `need` names another edition than the device has. Where weights
 * are uploaded (weights.h) they are in UP by then, and compute only follows them. A run ends when nothing
 * of it is left in the queues, which is why the next one may write wherever it likes; only the inputs of
 * that one, and weights, may be on their way.
 *
 * Where gradients stay on the device neither they nor weights cross. A part is handed over when the
 * device has been given what makes it, and the host looks only at what it must know before (`tells`): the
 * kept values, the word about bad data, once a run. So it is ahead of the device by up to a step, unless the run
 * is traced or timed. What backward's kernels could say of data forward's have said; the word stays for the next run
 * to tell.
 */
#include "exec/state.h"

/* One run, on its way. */
typedef struct walk {
    exec *e;
    const variant *v;
    const exec_hooks *hooks;
    const exec_trace *trace; /* who hears of its nodes; NULL: nobody */
    bool timed;             /* they run by stopwatches */
    bool gives;             /* gradients come down */
    size_t needed;          /* events of v->need that were seen to */
    size_t sent, delivered; /* of v->ready: on their way down; handed over */
    bool keeps;             /* values are on their way down that no part's event follows yet */
    exchange exchange;      /* with other devices, of gradients that do not come down as they are */
} walk;

static const backend_queue_ops *queue_of(const exec *e)
{
    return e->ops->queue;
}

static size_t part_bytes(const exec *e, int32_t part)
{
    return (size_t)flat_part_elements(e->flat, part) * sizeof(float);
}

/* Gradients do not come down: they are handed over on the device. */
static bool keeps_gradients(const exec *e)
{
    return e->weights->ops->keeps_gradients;
}

/* --- up --- */

/* Kernels from here on find what was copied up until now. */
static status compute_after_up(const exec *e, error *err)
{
    TRY(queue_of(e)->mark(e->device, QUEUE_UP, e->queued->weights.arrived, err));
    return queue_of(e)->follow(e->device, QUEUE_COMPUTE, e->queued->weights.arrived, err);
}

/* Without the hook nobody says what has changed: everything is new. */
static status need_part(const walk *w, int32_t part, bool *ret_sent, error *err)
{
    int64_t edition = -1;
    if (w->hooks && w->hooks->need)
        TRY(w->hooks->need(w->hooks->user, part, &edition, err));
    return w->e->weights->ops->need(w->e->weights, w->e, part, edition, ret_sent, err);
}

/* Those that nodes in front of `end` read. */
static status queued_need_parts(walk *w, int32_t end, error *err)
{
    const part_events *events = &w->v->need;
    bool sent = false;
    for (; w->needed < events->n && events->items[w->needed].node < end; w->needed++)
        TRY(need_part(w, events->items[w->needed].part, &sent, err));
    return sent ? compute_after_up(w->e, err) : OK;
}

/* --- down --- */

/* Copies down from here on find what kernels have made until now. */
static status down_after_compute(const exec *e, error *err)
{
    TRY(queue_of(e)->mark(e->device, QUEUE_COMPUTE, e->queued->made, err));
    return queue_of(e)->follow(e->device, QUEUE_DOWN, e->queued->made, err);
}

/* A node's kernel may run at a later one's turn. */
static bool is_made_in(const variant *v, graph_val id, const segment *s)
{
    int32_t turn = plan_place_of(v->plan, id)->first;
    return s->first <= turn && turn < s->end;
}

static status fetch_kept(walk *w, const segment *s, error *err)
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
        TRY(queue_of(w->e)->copy(w->e->device, QUEUE_DOWN, queued_host_address(w->e, v, id),
                                 v->addresses[id], plan_place_of(v->plan, id)->bytes, err));
    }
    w->keeps = w->keeps || follows;
    return OK;
}

static status fetch_part(const walk *w, int32_t part, error *err)
{
    const exec *e = w->e;
    int64_t begin = e->flat->parts[part].begin;
    return queue_of(e)->copy(e->device, QUEUE_DOWN, (float *)e->queued->grad + begin,
                             (const float *)e->slabs[SLAB_GRAD] + begin, part_bytes(e, part), err);
}

static status fetch_fault(const exec *e, size_t i, error *err)
{
    return queue_of(e)->copy(e->device, QUEUE_DOWN, (uint64_t *)e->queued->faults + i,
                             e->ops->fault->word(e->device), sizeof(uint64_t), err);
}

static status check_fault(const walk *w, size_t i, error *err)
{
    return w->e->ops->fault->check(w->v->program, ((const uint64_t *)w->e->queued->faults)[i],
                                   err);
}

static status add_parts(const walk *w, int32_t last, error *err)
{
    const part_events *events = &w->v->ready;
    if (!w->e->memory.grad || !w->hooks || !w->hooks->slot)
        return OK;
    for (size_t i = w->sent; i < events->n && events->items[i].node <= last; i++)
        TRY(sums_add(w->e, w->hooks->slot, events->items[i].part, err));
    return OK;
}

/* The part's event says too that nothing reads its weights any more. */
static status fetch_sent(const walk *w, size_t i, error *err)
{
    const exec *e = w->e;
    if (w->gives && !keeps_gradients(e))
        TRY(fetch_part(w, w->v->ready.items[i].part, err));
    return queue_of(e)->mark(e->device, QUEUE_DOWN, e->queued->landed[i], err);
}

/* What the host is to learn of the parts from `first` to `end`, which are ready at one place: one word is about
 * them all, and where gradients stay on the device it comes with the first of them. */
static status fetch_news(const walk *w, size_t first, size_t end, error *err)
{
    const exec *e = w->e;
    bool each = !keeps_gradients(e);
    for (size_t i = first; i < end; i++) {
        bool tells = e->queued->tells[i] = each || (i == first && (!i || w->keeps));
        e->queued->words[i] = first;
        if (tells && i == first) {
            TRY(down_after_compute(e, err));
            TRY(fetch_fault(e, first, err));
        }
        if (tells)
            TRY(fetch_sent(w, i, err));
    }
    return OK;
}

/* Those that nodes up to `last` make. */
static status fetch_parts(walk *w, int32_t last, error *err)
{
    const exec *e = w->e;
    const part_events *events = &w->v->ready;
    size_t first = w->sent, end = first;
    TRY(add_parts(w, last, err));
    while (end < events->n && events->items[end].node <= last)
        end++;
    TRY(fetch_news(w, first, end, err));
    w->sent = end;
    w->keeps = w->keeps && first == end;
    return weight_store_made(e->weights, w->e, events->items + first, end - first, err);
}

/* Whether the host knows what it must before the next part is handed over; with `all`, waits. */
static status has_landed(const walk *w, bool all, bool *ret, error *err)
{
    const exec *e = w->e;
    const backend_event *landed = e->queued->landed[w->delivered];
    *ret = true;
    if (!e->queued->tells[w->delivered])
        return OK;
    if (all)
        TRY(queue_of(e)->wait(e->device, landed, err));
    else
        TRY(queue_of(e)->reached(e->device, landed, ret, err));
    return *ret ? check_fault(w, e->queued->words[w->delivered], err) : OK;
}

/* Hands over what has landed; with `all`, waits for the rest. */
static status deliver(walk *w, bool all, error *err)
{
    const exec *e = w->e;
    for (; w->delivered < w->sent; w->delivered++) {
        int32_t part = w->v->ready.items[w->delivered].part;
        bool landed;
        TRY(exchange_progress(e, &w->exchange, w->hooks, err));
        TRY(has_landed(w, all, &landed, err));
        if (!landed)
            return OK;
        TRY(hooks_ready(w->hooks, e->flat, part, w->gives ? exec_grad(w->e) : NULL, err));
        exchange_made(&w->exchange, part);
    }
    return OK;
}

/* --- the run --- */

static status give_segment(walk *w, const segment *s, error *err)
{
    if (hooks_cancelled(w->hooks))
        return FAIL(err, E_LOST, "cancelled");
    TRY(queued_need_parts(w, s->end, err));
    TRY(segments_play(w->e, w->v, s, w->timed, err));
    TRY(fetch_kept(w, s, err));
    TRY(fetch_parts(w, s->end - 1, err));
    return deliver(w, false, err);
}

static status clear_fault(const exec *e, error *err)
{
    if (e->queued->keeps_word)
        return OK;
    TRY(e->ops->fault->clear(e->device, err));
    e->queued->keeps_word = keeps_gradients(e);
    return OK;
}

/* Parts that no node reads: gradients of theirs may be in the server's hands still. */
static status follow_unread(const walk *w, error *err)
{
    const exec *e = w->e;
    bool sent = false;
    for (int32_t p = 0; keeps_gradients(e) && p < e->flat->n_live_parts; p++)
        if (plan_part_need_before(w->v->plan, p) < 0)
            TRY(e->weights->ops->need(e->weights, w->e, p, -1, &sent, err));
    return OK;
}

static status give_all(walk *w, error *err)
{
    if (w->trace)
        TRY(device_trace_begin(w->e, err));
    TRY(clear_fault(w->e, err));
    TRY(follow_unread(w, err));
    TRY(inputs_take(w->e, w->v, err));
    for (size_t i = 0; i < w->v->n_segments; i++)
        TRY(give_segment(w, &w->v->segments[i], err));
    TRY(fetch_parts(w, graph_n_nodes(w->v->graph), err));
    if (w->hooks && w->hooks->ahead)
        TRY(w->hooks->ahead(w->hooks->user, err));
    TRY(deliver(w, true, err));
    return exchange_finish(w->e, &w->exchange, w->v, w->hooks, err);
}

/* DOWN follows the last kernel, and kernels what went up for them. */
static status queued_finish(const exec *e, error *err)
{
    TRY(down_after_compute(e, err));
    TRY(fetch_fault(e, queued_n_faults(e) - 1, err));
    TRY(queue_of(e)->mark(e->device, QUEUE_DOWN, e->queued->end, err));
    return queue_of(e)->wait(e->device, e->queued->end, err);
}

/* Whether the host knows all of a run that is not over. */
static bool knows_all(const walk *w)
{
    return keeps_gradients(w->e) && w->delivered && !w->keeps && !w->e->queued->clock.timed && !w->timed;
}

static status queued_judge(const walk *w, error *err)
{
    TRY(segments_time(w->e, w->v, err));
    if (w->trace)
        TRY(device_trace_end(w->e, w->v, w->trace, err));
    else if (w->timed)
        TRY(node_times_read(w->v->times, err));
    return check_fault(w, queued_n_faults(w->e) - 1, err);
}

/* Nobody waits for what went up last. If the device does not answer, what it has is unknown. */
static void give_up(exec *e, exchange *t, error *err)
{
    e->queued->inputs.next = NULL;
    e->queued->keeps_word = false;
    bool is_left = exchange_abandon(e, t, err) == OK;
    if (compute_after_up(e, NULL) != OK || queued_finish(e, NULL) != OK || !is_left)
        device_weights_forget(e);
}

static bool gives(const exec *e, const exec_hooks *hooks)
{
    const exec_slot *s = hooks ? hooks->slot : NULL;
    return e->memory.grad && (!s || (sums_complete(s) && !s->with));
}

status exec_run_queued(exec *e, const variant *v, const exec_hooks *hooks, error *err)
{
    bool traces = e->queued->trace.run;
    walk w = {.e = e,
              .v = v,
              .hooks = hooks,
              .trace = traces && hooks ? hooks->trace : NULL,
              .gives = gives(e, hooks),
              .exchange = exchange_of(e, hooks ? hooks->slot : NULL)};
    w.timed = v->times && (w.trace || !traces);
    status st = give_all(&w, err);
    bool ends = !knows_all(&w);
    if (st == OK && ends)
        st = queued_finish(e, err);
    if (st != OK)
        give_up(e, &w.exchange, err);
    return st == OK && ends ? queued_judge(&w, err) : st;
}
