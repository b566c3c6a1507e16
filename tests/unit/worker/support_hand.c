/* See support_hand.h: the fake kv and lanes come first, the hand that owns them last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/worker/support_hand.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <stdlib.h>
#include <string.h>

typedef enum kind { PUSH, PULL, PUSHED, PART, GONE } kind;

typedef struct message {
    kind kind;
    int64_t step, newest;
    tree_node node;
    float data[KEEP_PART_N];
} message;

typedef struct channel {
    message *at;
    size_t n, cap;
} channel;

typedef struct push {
    int32_t part;
    message message;
    span *sum;
} push;

struct kv {
    kv_hooks hooks;
    channel out[KEEP_PARTS], in[KEEP_PARTS];
    int64_t wanted[KEEP_PARTS]; /* -1: no pull under way */
    int64_t waits[KEEP_PARTS];  /* the server's memory of a pull it cannot answer yet; -1 */
    push *pushes;               /* not acknowledged */
    size_t n_pushes, cap_pushes;
};

struct lane {
    hand *hand;
    lane_slot queue[64], now, given; /* the last one; n_slots == 0: none */
    size_t n;
    bool busy;
    int done; /* bits of work done of `now` */
    int n_borrowed;
    lane_reducer *reducer;
    float grad[KEEP_LIVE][KEEP_PART_N];
    span spans[KEEP_LIVE];
};

struct hand {
    keep *keep;
    kv *kv; /* the sync_driver's */
    net_waker *waker;
    lane_shared shared;
    int64_t done_us; /* when a slot was done last; 0: none since lanes were cancelled */
    lane lanes[HAND_LANES], *pointers[HAND_LANES];
    sync_driver *sync_driver;
    hand_report *reports;
    size_t n_reports, cap_reports;
};

static void must(status st)
{
    assert_int_equal(st, OK);
}

static void put(channel *c, const message *m)
{
    GROW(c->at, c->cap, c->n + 1);
    c->at[c->n++] = *m;
}

static bool take(channel *c, message *ret)
{
    if (!c->n)
        return false;
    *ret = c->at[0];
    memmove(c->at, c->at + 1, --c->n * sizeof *c->at);
    return true;
}

/* --- kv --- */

status kv_create(const kv_options *options, kv **ret, error *err)
{
    (void)err;
    kv *k = xcalloc(1, sizeof *k);
    k->hooks = options->hooks;
    for (int32_t p = 0; p < KEEP_PARTS; p++)
        k->wanted[p] = k->waits[p] = -1;
    *ret = k;
    return OK;
}

status kv_begin(kv *k, uint64_t job_id, uint32_t era, uint32_t incarnation, const flat *f,
                const uint32_t *acting, error *err)
{
    (void)k, (void)job_id, (void)era, (void)incarnation, (void)f, (void)acting, (void)err;
    return OK;
}

status kv_serve(kv *k, error *err)
{
    (void)k, (void)err; /* hand_hear */
    return OK;
}

status kv_pull(kv *k, int32_t part, int64_t version, error *err)
{
    (void)err;
    k->wanted[part] = version;
    put(&k->out[part], &(message){.kind = PULL, .step = version});
    return OK;
}

status kv_push(kv *k, int32_t part, int64_t step, uint32_t slots, tree_node node, span *sum,
               error *err)
{
    (void)slots;
    (void)err;
    assert_int_equal(sum->bytes, KEEP_PART_N * sizeof(float));
    push p = {.part = part, .message = {.kind = PUSH, .step = step, .node = node}, .sum = sum};
    memcpy(p.message.data, sum->data, sizeof p.message.data);
    GROW(k->pushes, k->cap_pushes, k->n_pushes + 1);
    k->pushes[k->n_pushes++] = p;
    put(&k->out[part], &p.message);
    return OK;
}

bool kv_is_pushing(const kv *k, int64_t step)
{
    for (size_t i = 0; i < k->n_pushes; i++)
        if (k->pushes[i].message.step == step)
            return true;
    return false;
}

static void push_end(kv *k, size_t i)
{
    span *sum = k->pushes[i].sum;
    k->pushes[i] = k->pushes[--k->n_pushes];
    span_drop(sum);
}

void kv_destroy(kv **k)
{
    while ((*k)->n_pushes)
        push_end(*k, 0);
    for (int32_t p = 0; p < KEEP_PARTS; p++) {
        free((*k)->out[p].at);
        free((*k)->in[p].at);
    }
    free((*k)->pushes);
    free(*k);
    *k = NULL;
}

static void take_pushed(kv *k, int32_t part, const message *m)
{
    for (size_t i = 0; i < k->n_pushes; i++) {
        const push *p = &k->pushes[i];
        if (p->part == part && p->message.step == m->step &&
            p->message.node.level == m->node.level && p->message.node.index == m->node.index) {
            push_end(k, i);
            return;
        }
    }
}

static void answer(hand *h, int32_t part, int64_t version)
{
    message m = {.kind = PART, .step = version};
    keep_answer a = keep_pull(h->keep, part, version);
    if (a == KEEP_LATER) {
        h->kv->waits[part] = version;
        return;
    }
    if (a == KEEP_GONE) {
        m.kind = GONE;
        m.newest = h->keep->version[part];
    }
    keep_weights(part, version, m.data);
    put(&h->kv->in[part], &m);
}

/* --- lanes --- */

static void lent_release(span *b)
{
    ((lane *)b->owner)->n_borrowed--;
}

void lane_set_reducer(lane *l, lane_reducer *g)
{
    l->reducer = g;
}

/* A node to add up by itself has all its slots here, one after another. */
static void check_sum(const lane *l, const lane_slot *slot)
{
    const lane_slot *before = &l->given;
    bool goes_on =
        before->n_slots && before->slot + 1 < tree_node_end(before->sum, before->n_slots);
    assert_int_equal(slot->n_slots, steps_slots(&l->hand->keep->steps, slot->step));
    assert_int_equal(slot->slot, goes_on ? before->slot + 1 : tree_node_first(slot->sum));
    assert_true(!goes_on || (slot->step == before->step && slot->sum.level == before->sum.level &&
                             slot->sum.index == before->sum.index));
}

void lane_give(lane *l, const lane_slot *slot)
{
    check_sum(l, slot);
    assert_true(slot->free_us <= l->hand->done_us);
    l->given = *slot;
    assert_true(l->n < COUNT_OF(l->queue));
    l->queue[l->n++] = *slot;
}

void lane_cancel(lane *l)
{
    l->n = 0;
    l->busy = false;
    l->given.n_slots = 0;
    l->hand->done_us = 0;
}

/* The weights of this part are those of the slot's step. */
static void check_reads(const lane *l, int32_t part)
{
    const part_range *range = &keep_flat()->parts[part];
    int64_t version = part < KEEP_LIVE ? l->now.step : 0;
    if (!keep_is_weights(part, version, l->hand->shared.store->values + range->begin))
        fail_msg("slot %u of step %lld reads other weights of part %d", l->now.slot,
                 (long long)l->now.step, part);
}

static void ready(lane *l, int32_t part)
{
    span *borrowed = NULL;
    keep_gradient(part, l->now.step, l->now.slot, l->grad[part]);
    if (l->now.last) {
        l->spans[part] = (span){.data = l->grad[part],
                                .bytes = sizeof l->grad[part],
                                .writable = true,
                                .refs = 1,
                                .release = lent_release,
                                .owner = l};
        borrowed = &l->spans[part];
        l->n_borrowed++;
    }
    note n = {.kind = NOTE_MEASURED, .step = l->now.step, .slot = l->now.slot};
    if (part == flat_reporting_part(keep_flat()))
        lane_notes_post(l->hand->shared.notes, &n);
    n = (note){.kind = NOTE_READY, .step = l->now.step, .slot = l->now.slot, .part = part};
    must(lane_reducer_add(l->reducer, part, l->now.step, (tree_node){0, l->now.slot}, l->grad[part], borrowed,
                          &n.node, &n.sum, NULL));
    lane_notes_post(l->hand->shared.notes, &n);
}

bool hand_move_lane(hand *h, int32_t i)
{
    lane *l = &h->lanes[i];
    if (!l->busy) {
        if (!l->n || l->n_borrowed)
            return false;
        l->now = l->queue[0];
        memmove(l->queue, l->queue + 1, --l->n * sizeof l->queue[0]);
        l->busy = true;
        l->done = 0;
        return true;
    }
    int32_t forward = l->done, backward = KEEP_PARTS + KEEP_LIVE - 1 - l->done;
    if (forward < KEEP_PARTS) {
        int64_t have = weights_view_version(h->shared.weights, forward);
        if (forward < KEEP_LIVE ? have != l->now.step : have < 0)
            return false;
    }
    l->done++;
    int32_t read = forward < KEEP_PARTS ? forward : backward;
    for (int32_t p = 0; p <= read && p < KEEP_PARTS; p++)
        check_reads(l, p);
    if (forward >= KEEP_PARTS && backward >= 0)
        ready(l, backward);
    if (backward < 0) {
        note n = {.kind = NOTE_DONE, .step = l->now.step, .slot = l->now.slot, .lane = i, .at_us = clock_us()};
        l->hand->done_us = n.at_us;
        lane_notes_post(h->shared.notes, &n);
        l->busy = false;
    }
    return true;
}

/* --- the hand --- */

static status on_measured(void *user, const note *n, error *err)
{
    (void)err;
    hand *h = user;
    GROW(h->reports, h->cap_reports, h->n_reports + 1);
    h->reports[h->n_reports++] = (hand_report){n->step, n->slot};
    return OK;
}

hand *hand_start(keep *k)
{
    hand *h = xcalloc(1, sizeof *h);
    h->keep = k;
    must(net_waker_create(&h->waker, NULL));
    must(weights_host_create(keep_flat(), &h->shared.store, NULL));
    h->shared.weights = weights_view_create(keep_flat(), h->shared.store);
    h->shared.notes = lane_notes_create(h->waker);
    for (int32_t i = 0; i < HAND_LANES; i++) {
        h->lanes[i].hand = h;
        h->pointers[i] = &h->lanes[i];
    }
    must(sync_driver_create(&(sync_driver_options){.flat = keep_flat(),
                                                   .shared = h->shared,
                                                   .lanes = h->pointers,
                                                   .n_lanes = HAND_LANES,
                                                   .measured = on_measured,
                                                   .user = h},
                            &h->sync_driver, NULL));
    h->kv = sync_driver_kv(h->sync_driver);
    return h;
}

void hand_kill(hand **h, hand *const *all, size_t n_all, size_t delivered)
{
    for (size_t i = 0; i < delivered; i++)
        for (int32_t p = 0; p < KEEP_PARTS; p++)
            hand_say(*h, p, all, n_all);
    sync_driver_destroy(&(*h)->sync_driver);
    for (int32_t i = 0; i < HAND_LANES; i++)
        assert_int_equal((*h)->lanes[i].n_borrowed, 0);
    lane_notes_destroy(&(*h)->shared.notes);
    weights_view_destroy(&(*h)->shared.weights);
    weight_store_destroy(&(*h)->shared.store);
    net_waker_destroy(&(*h)->waker);
    free((*h)->reports);
    free(*h);
    *h = NULL;
}

sync_driver *hand_driver(hand *h)
{
    return h->sync_driver;
}

void hand_answer_waiting(hand *h, int32_t part)
{
    int64_t waits = h ? h->kv->waits[part] : -1;
    if (waits < 0 || keep_pull(h->keep, part, waits) == KEEP_LATER)
        return;
    h->kv->waits[part] = -1;
    answer(h, part, waits);
}

bool hand_say(hand *h, int32_t part, hand *const *all, size_t n_all)
{
    message m;
    if (!take(&h->kv->out[part], &m))
        return false;
    if (m.kind == PULL) {
        answer(h, part, m.step);
        return true;
    }
    bool moved = keep_push(h->keep, part, m.step, m.node, m.data);
    put(&h->kv->in[part], &(message){.kind = PUSHED, .step = m.step, .node = m.node});
    for (size_t i = 0; moved && i < n_all; i++)
        hand_answer_waiting(all[i], part);
    return true;
}

bool hand_hear(hand *h, int32_t part)
{
    message m;
    if (!take(&h->kv->in[part], &m))
        return false;
    if (m.kind == PUSHED) {
        take_pushed(h->kv, part, &m);
        return true;
    }
    if (h->kv->wanted[part] != m.step)
        return true;
    h->kv->wanted[part] = -1;
    span weights = span_for_call(m.data, sizeof m.data);
    if (m.kind == PART)
        h->kv->hooks.part(h->kv->hooks.user,
                          &(kv_part){.part = part, .version = m.step, .weights = &weights});
    else
        h->kv->hooks.gone(h->kv->hooks.user, part, m.newest);
    return true;
}

void hand_serve(hand *h)
{
    must(sync_driver_serve(h->sync_driver, NULL));
}

bool hand_take_report(hand *h, hand_report *ret)
{
    if (!h->n_reports)
        return false;
    *ret = h->reports[0];
    memmove(h->reports, h->reports + 1, --h->n_reports * sizeof *h->reports);
    return true;
}

void hand_redial(hand *h, int32_t part)
{
    h->kv->out[part].n = h->kv->in[part].n = 0;
    h->kv->waits[part] = -1;
    if (h->kv->wanted[part] >= 0)
        put(&h->kv->out[part], &(message){.kind = PULL, .step = h->kv->wanted[part]});
    for (size_t i = 0; i < h->kv->n_pushes; i++)
        if (h->kv->pushes[i].part == part)
            put(&h->kv->out[part], &h->kv->pushes[i].message);
}
