/*
 * A group's work on one of its devices, in a queue of its own. A part is begun when the host of
 * every member has seen it made, and of sound data: so no queue waits for another device, and what
 * was begun ends by itself. A run ends when all members have what they wanted of this one's
 * gradients.
 */
#include "common/base/alloc.h"
#include "exec/state.h"

#include <stdlib.h>

enum { GRAIN = 64 }; /* elements; pieces begin at multiples */

static const backend_queue_ops *queue_of(const exec *e)
{
    return e->ops->queue;
}

/* --- joining --- */

static size_t largest_part(const flat *f)
{
    size_t most = 0;
    for (int32_t p = 0; p < f->n_live_parts; p++) {
        size_t n = (size_t)flat_part_elements(f, p);
        most = n > most ? n : most;
    }
    return most;
}

size_t peers_workspace(const peers *p)
{
    return p ? (largest_part(p->flat) + (size_t)p->n * GRAIN) * sizeof(float) : 0;
}

static status exchange_join(exec *e, const peers *p, error *err)
{
    exchange_buffers *q = &e->queued->exchange;
    q->addends = xcalloc((size_t)p->n, sizeof *q->addends);
    q->exchanges = xcalloc((size_t)p->n, sizeof *q->exchanges);
    q->pieces = xcalloc((size_t)p->flat->n_live_parts + 1, sizeof *q->pieces);
    TRY(e->ops->alloc(e->device, SPACE_DEVICE, peers_workspace(p), "what others send", &q->received,
                      err));
    for (int32_t i = 0; i < p->flat->n_live_parts; i++)
        TRY(queue_of(e)->event_create(e->device, &q->pieces[i], err));
    return OK;
}

void exec_join(exec *e, peers *p, int32_t member)
{
    if (!p || !e->queued || !e->memory.grad || exchange_join(e, p, NULL) != OK)
        return;
    p->engines[member] = e;
    e->queued->exchange.member = member;
}

void exchange_destroy(exec *e)
{
    exchange_buffers *q = &e->queued->exchange;
    for (int32_t i = 0; q->pieces && i < e->flat->n_live_parts; i++)
        queue_of(e)->event_destroy(e->device, &q->pieces[i]);
    e->ops->release(e->device, SPACE_DEVICE, q->received);
    free(q->pieces);
    free(q->addends);
    free(q->exchanges);
}

/* --- a piece --- */

typedef struct piece {
    size_t begin, n; /* elements of the flat vector */
    size_t most;     /* of any member's */
} piece;

static piece exchange_piece_of(const exec *e, const exchange *t, int32_t part, int32_t rank)
{
    size_t n = (size_t)flat_part_elements(e->flat, part), members = (size_t)t->with->n;
    size_t most = (n + members * GRAIN - 1) / (members * GRAIN) * GRAIN;
    size_t first = (size_t)rank * most < n ? (size_t)rank * most : n;
    return (piece){.begin = (size_t)e->flat->parts[part].begin + first,
                   .n = n - first < most ? n - first : most,
                   .most = most};
}

static const exec *engine_of(const exchange *t, int32_t rank)
{
    return t->with->peers->engines[t->with->member[rank]];
}

static float *gradients_of(const exchange *t, int32_t rank)
{
    return engine_of(t, rank)->slabs[SLAB_GRAD];
}

static status copy_here(const exec *e, const exchange *t, const piece *own, error *err)
{
    size_t bytes = own->n * sizeof(float);
    for (int32_t r = 0; bytes && r < t->with->n; r++)
        if (r != t->rank)
            TRY(queue_of(e)->copy(e->device, QUEUE_PEER, e->queued->exchange.addends[r],
                                  gradients_of(t, r) + own->begin, bytes, err));
    return OK;
}

/* Others get their pieces of this one's gradients for it. */
static status send_pieces(const exec *e, const exchange *t, int32_t part, const piece *own, error *err)
{
    const exchange_buffers *b = &e->queued->exchange;
    int32_t n = 0;
    for (int32_t r = 0; r < t->with->n; r++) {
        piece theirs = exchange_piece_of(e, t, part, r);
        if (r != t->rank)
            b->exchanges[n++] = (backend_exchange){
                .with = t->with->member[r],
                .out = gradients_of(t, t->rank) + theirs.begin,
                .n_out = theirs.n,
                .in = b->addends[r],
                .n_in = own->n,
            };
    }
    return e->ops->group->exchange(t->with->peers->group, b->member, b->exchanges, n, err);
}

/* All members' gradients of this piece, on this device. */
static status receive(const exec *e, const exchange *t, int32_t part, const piece *own, error *err)
{
    const exchange_buffers *b = &e->queued->exchange;
    for (int32_t r = 0; r < t->with->n; r++)
        b->addends[r] = r == t->rank ? gradients_of(t, r) + own->begin
                                     : (float *)b->received + (size_t)r * own->most;
    return t->with->peers->group ? send_pieces(e, t, part, own, err) : copy_here(e, t, own, err);
}

/* A node whose left sibling waits is added to it, as often as there is one. */
static status exchange_add_up(const exec *e, const exchange *t, size_t n, float **ret, error *err)
{
    float *waiting[32];
    int depth = 0;
    for (int32_t r = 0; r < t->with->n; r++) {
        tree_node node = t->with->node[r];
        float *sum = e->queued->exchange.addends[r];
        while (node.level < t->with->sum.level && node.index % 2 == 1) {
            TRY(e->ops->optimizer->sum(e->device, QUEUE_PEER, sum, waiting[--depth], sum, n, err));
            node = tree_node_top(tree_node_parent(node), t->with->n_slots);
        }
        waiting[depth++] = sum;
    }
    *ret = waiting[0];
    return OK;
}

static status begin_piece(const exec *e, const exchange *t, int32_t part, backend_event *end, error *err)
{
    piece x = exchange_piece_of(e, t, part, t->rank);
    float *sum = NULL, *host = (float *)engine_of(t, 0)->queued->grad + x.begin;
    TRY(receive(e, t, part, &x, err));
    if (x.n) {
        TRY(exchange_add_up(e, t, x.n, &sum, err));
        TRY(queue_of(e)->copy(e->device, QUEUE_PEER, host, sum, x.n * sizeof *sum, err));
    }
    return queue_of(e)->mark(e->device, QUEUE_PEER, end, err);
}

/* Others count on what is in the log. */
static status begin_all(const exec *e, exchange *t, error *err)
{
    for (int32_t n = reduce_group_look(t->with).n_log; t->begun < n; t->begun++)
        TRY(begin_piece(e, t, t->with->log[t->begun], e->queued->exchange.pieces[t->begun], err));
    return OK;
}

/* --- a run --- */

exchange exchange_of(const exec *e, const exec_slot *s)
{
    exchange t = {.with = s ? s->with : NULL};
    while (t.with && t.with->member[t.rank] != e->queued->exchange.member)
        t.rank++;
    return t;
}

void exchange_made(exchange *t, int32_t part)
{
    if (t->with)
        reduce_group_made(t->with, part);
}

static void note_landed(exchange *t)
{
    t->landed++;
    reduce_group_landed(t->with, t->rank);
}

static status wait_for_one(const exec *e, exchange *t, error *err)
{
    TRY(queue_of(e)->wait(e->device, e->queued->exchange.pieces[t->landed], err));
    note_landed(t);
    return OK;
}

static status give(const exec *e, const exec_hooks *hooks, int32_t part, tree_node node, error *err)
{
    return hooks->sum(hooks->user, part, node,
                      (const float *)e->queued->grad + e->flat->parts[part].begin, err);
}

static status give_whole(const exec *e, exchange *t, const exec_hooks *hooks, error *err)
{
    int32_t n = t->rank == 0 ? reduce_group_look(t->with).n_whole : 0;
    for (; t->given < n; t->given++)
        TRY(give(e, hooks, t->with->log[t->given], t->with->sum, err));
    return OK;
}

status exchange_progress(const exec *e, exchange *t, const exec_hooks *hooks, error *err)
{
    if (!t->with)
        return OK;
    TRY(begin_all(e, t, err));
    for (bool reached = true; reached && t->landed < t->begun;) {
        TRY(queue_of(e)->reached(e->device, e->queued->exchange.pieces[t->landed], &reached, err));
        if (reached)
            note_landed(t);
    }
    return give_whole(e, t, hooks, err);
}

static bool is_over(const exec *e, const exchange *t, const reduce_group_state *now)
{
    bool no_more = now->closed || now->n_log == e->flat->n_live_parts;
    bool given = t->rank != 0 || t->given == now->n_log;
    return no_more && now->n_whole == now->n_log && given;
}

/* Parts that the group did not come to. */
static status give_own(const exec *e, exchange *t, const variant *v, const exec_hooks *hooks, error *err)
{
    for (size_t i = 0; i < v->ready.n; i++) {
        int32_t part = v->ready.items[i].part;
        if (t->with->made_by[part] == t->with->n)
            continue;
        int64_t begin = e->flat->parts[part].begin;
        size_t bytes = (size_t)flat_part_elements(e->flat, part) * sizeof(float);
        TRY(queue_of(e)->copy(e->device, QUEUE_DOWN, (float *)e->queued->grad + begin,
                              (const float *)e->slabs[SLAB_GRAD] + begin, bytes, err));
        TRY(queue_of(e)->mark(e->device, QUEUE_DOWN, e->queued->end, err));
        TRY(queue_of(e)->wait(e->device, e->queued->end, err));
        TRY(give(e, hooks, part, t->with->node[t->rank], err));
    }
    return OK;
}

status exchange_finish(const exec *e, exchange *t, const variant *v, const exec_hooks *hooks, error *err)
{
    if (!t->with)
        return OK;
    for (;;) {
        reduce_group_state now = reduce_group_look(t->with);
        TRY(exchange_progress(e, t, hooks, err));
        if (is_over(e, t, &now))
            break;
        if (t->landed < t->begun)
            TRY(wait_for_one(e, t, err));
        else
            TRY(reduce_group_wait(t->with, now.changes, hooks, err));
    }
    TRY(give_own(e, t, v, hooks, err));
    reduce_group_leave(t->with);
    t->with = NULL;
    return OK;
}

status exchange_abandon(const exec *e, exchange *t, error *err)
{
    if (!t->with)
        return OK;
    reduce_group_close(t->with);
    status st = begin_all(e, t, NULL);
    while (st == OK && t->landed < t->begun)
        st = wait_for_one(e, t, NULL);
    if (st != OK)
        reduce_group_break(t->with, err);
    reduce_group_leave(t->with);
    t->with = NULL;
    return st;
}
