/* See support_stage.h: the servers come first, then the fake kv and lane, the actor last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/worker/async_lane/support_stage.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

typedef enum kind { PUSH, PULL, PUSHED, PART } kind;

typedef struct message {
    kind kind;
    int64_t batch, floor;
    float data[STAGE_PART_N];
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

typedef struct wish {
    int64_t batch, floor; /* batch -1: none */
} wish;

struct kv {
    kv_hooks hooks;
    int64_t told; /* of which batch it was told what it measured */
    channel out[STAGE_PARTS], in[STAGE_PARTS];
    wish wanted[STAGE_PARTS]; /* our pulls under way */
    wish waits[STAGE_PARTS];  /* those the servers cannot answer yet */
    push *pushes;             /* not acknowledged */
    size_t n_pushes, cap_pushes;
};

struct lane {
    actor *actor;
    lane_reducer *reducer;
    lane_slot now;
    bool given, busy;
    int done; /* bits of work done of `now` */
    int n_borrowed;
    float grad[STAGE_LIVE][STAGE_PART_N];
    span spans[STAGE_LIVE];
};

struct actor {
    stage *stage;
    kv *kv;
    net_waker *waker;
    lane_shared shared;
    lane lane;
    async_lane *async_lane;
    int64_t *floors; /* [total] as leased */
    int64_t *reports;
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

/* --- servers --- */

static const flat *stage_flat(void)
{
    static part_range parts[STAGE_PARTS];
    static flat f = {.n_elements = STAGE_PARTS * STAGE_PART_N,
                     .n_live = STAGE_LIVE * STAGE_PART_N,
                     .n_parts = STAGE_PARTS,
                     .n_live_parts = STAGE_LIVE,
                     .parts = parts};
    for (int32_t p = 0; p < STAGE_PARTS; p++)
        parts[p] = (part_range){
            .begin = p * STAGE_PART_N, .end = (p + 1) * STAGE_PART_N, .frozen = p >= STAGE_LIVE};
    return &f;
}

void stage_begin(stage *s, int64_t total)
{
    *s = (stage){.total = total};
}

void stage_end(stage *s)
{
    for (int p = 0; p < STAGE_LIVE; p++)
        batch_set_fini(&s->applied[p]);
}

void stage_of_all(const stage *s, batch_set *ret)
{
    batch_set_copy(ret, &s->applied[0]);
    for (int p = 1; p < STAGE_LIVE; p++)
        batch_set_intersect(ret, &s->applied[p]);
}

static int64_t floor_of(const stage *s, int32_t part)
{
    return part < STAGE_LIVE ? s->applied[part].floor : INT64_MAX;
}

static void gradient(int32_t part, int64_t batch, float *ret)
{
    for (int i = 0; i < STAGE_PART_N; i++)
        ret[i] = (float)(batch * 100 + part * 10 + i);
}

static void weights(const stage *s, int32_t part, float *ret)
{
    for (int i = 0; i < STAGE_PART_N; i++)
        ret[i] = (float)(part < STAGE_LIVE ? floor_of(s, part) : 7);
}

/* --- kv --- */

status kv_create(const kv_options *options, kv **ret, error *err)
{
    (void)err;
    *ret = xcalloc(1, sizeof **ret);
    (*ret)->hooks = options->hooks;
    return OK;
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
    for (int p = 0; p < STAGE_PARTS; p++) {
        free((*k)->out[p].at);
        free((*k)->in[p].at);
    }
    free((*k)->pushes);
    free(*k);
    *k = NULL;
}

status kv_begin(kv *k, uint64_t job_id, uint32_t era, uint32_t incarnation, const flat *f,
                const uint32_t *acting, error *err)
{
    (void)job_id, (void)era, (void)incarnation, (void)f, (void)acting, (void)err;
    while (k->n_pushes)
        push_end(k, 0);
    for (int p = 0; p < STAGE_PARTS; p++) {
        k->out[p].n = k->in[p].n = 0;
        k->wanted[p].batch = k->waits[p].batch = -1;
    }
    return OK;
}

status kv_pull_newest(kv *k, int32_t part, int64_t batch, int64_t floor, error *err)
{
    (void)err;
    k->wanted[part] = (wish){batch, floor};
    put(&k->out[part], &(message){.kind = PULL, .batch = batch, .floor = floor});
    return OK;
}

status kv_say_beside(void *beside, int64_t step, uint32_t slot, const ProtobufCMessage *report,
                     error *err)
{
    (void)report, (void)err;
    const kv_beside *b = beside;
    assert_int_equal(slot, 0);
    b->kv->told = step;
    return OK;
}

/* What the batch measured goes in front of the reporting part. */
static void hear_measured(kv *k, const wire_head *about)
{
    if (about->part != flat_reporting_part(stage_flat()))
        return;
    k->told = -1;
    must(k->hooks.measured(k->hooks.user, &(kv_beside){k, about}, NULL));
    assert_int_equal(k->told, about->step);
}

status kv_push(kv *k, int32_t part, int64_t step, uint32_t slots, tree_node node, span *sum,
               error *err)
{
    (void)err;
    assert_int_equal(slots, 1);
    assert_int_equal(node.level, 0);
    assert_int_equal(sum->bytes, STAGE_PART_N * sizeof(float));
    hear_measured(k, &(wire_head){.type = WIRE_PUSH, .part = part, .step = step, .slots = slots});
    push p = {.part = part, .message = {.kind = PUSH, .batch = step}, .sum = sum};
    memcpy(p.message.data, sum->data, sizeof p.message.data);
    GROW(k->pushes, k->cap_pushes, k->n_pushes + 1);
    k->pushes[k->n_pushes++] = p;
    put(&k->out[part], &p.message);
    return OK;
}

status kv_serve(kv *k, error *err)
{
    (void)k, (void)err;
    return OK;
}

status kv_tick(kv *k, error *err)
{
    (void)k, (void)err;
    return OK;
}

/* --- lane --- */

static void lent_release(span *b)
{
    ((lane *)b->owner)->n_borrowed--;
}

void lane_set_reducer(lane *l, lane_reducer *g)
{
    l->reducer = g;
}

void lane_read_ahead(lane *l, const step_slot *batch)
{
    (void)l;
    assert_true(batch->n == 1);
}

void lane_give(lane *l, const lane_slot *slot)
{
    assert_false(l->given || l->busy);
    assert_int_equal(slot->batch.batch_id, slot->step);
    assert_true(slot->weight == 1 && slot->last);
    l->now = *slot;
    l->given = true;
}

void lane_cancel(lane *l)
{
    l->given = l->busy = false;
}

/* Weights are whole, and at least as new as the lease asks for. */
static void check_reads(const lane *l, int32_t part)
{
    const float *at = l->actor->shared.store->values + stage_flat()->parts[part].begin;
    for (int i = 1; i < STAGE_PART_N; i++)
        assert_true(at[i] == at[0]);
    if ((int64_t)at[0] < (part < STAGE_LIVE ? l->actor->floors[l->now.step] : 7))
        fail_msg("batch %lld reads part %d of floor %d", (long long)l->now.step, part, (int)at[0]);
}

static void ready(lane *l, int32_t part)
{
    gradient(part, l->now.step, l->grad[part]);
    l->spans[part] = (span){.data = l->grad[part],
                            .bytes = sizeof l->grad[part],
                            .writable = true,
                            .refs = 1,
                            .release = lent_release,
                            .owner = l};
    l->n_borrowed++;
    note n = {.kind = NOTE_READY, .step = l->now.step, .part = part};
    must(lane_reducer_add(l->reducer, part, l->now.step, (tree_node){0}, l->grad[part], &l->spans[part],
                          &n.node, &n.sum, NULL));
    lane_notes_post(l->actor->shared.notes, &n);
}

bool actor_move_lane(actor *a)
{
    lane *l = &a->lane;
    if (!l->busy) {
        if (!l->given || l->n_borrowed)
            return false;
        l->given = false;
        l->busy = true;
        l->done = 0;
        return true;
    }
    int32_t forward = l->done, backward = STAGE_PARTS + STAGE_LIVE - 1 - l->done;
    if (forward < STAGE_PARTS) {
        int64_t have = weights_view_version(a->shared.weights, forward);
        if (forward < STAGE_LIVE ? have != l->now.step : have < 0)
            return false;
    }
    l->done++;
    int32_t read = forward < STAGE_PARTS ? forward : backward;
    for (int32_t p = 0; p <= read && p < STAGE_PARTS; p++)
        check_reads(l, p);
    if (forward >= STAGE_PARTS && backward == STAGE_LIVE - 1)
        lane_notes_post(a->shared.notes, &(note){.kind = NOTE_MEASURED,
                                     .step = l->now.step,
                                     .measured = {.step = l->now.step}});
    if (forward >= STAGE_PARTS && backward >= 0)
        ready(l, backward);
    if (backward < 0) {
        lane_notes_post(a->shared.notes, &(note){.kind = NOTE_DONE, .step = l->now.step});
        l->busy = false;
    }
    return true;
}

/* --- the actor --- */

static status on_done(void *user, const note *n, error *err)
{
    (void)err;
    actor *a = user;
    for (int p = 0; p < STAGE_LIVE; p++)
        assert_true(batch_set_has(&a->stage->applied[p], n->step));
    GROW(a->reports, a->cap_reports, a->n_reports + 1);
    a->reports[a->n_reports++] = n->step;
    return OK;
}

actor *actor_start(stage *s)
{
    actor *a = xcalloc(1, sizeof *a);
    a->stage = s;
    a->lane.actor = a;
    a->floors = xcalloc((size_t)s->total, sizeof *a->floors);
    must(net_waker_create(&a->waker, NULL));
    must(weights_host_create(stage_flat(), &a->shared.store, NULL));
    a->shared.weights = weights_view_create(stage_flat(), a->shared.store);
    a->shared.notes = lane_notes_create(a->waker);
    must(async_lane_create(
        &(async_lane_options){
            .flat = stage_flat(), .shared = a->shared, .lane = &a->lane, .done = on_done, .user = a},
        &a->async_lane, NULL));
    a->kv = async_lane_kv(a->async_lane);
    actor_begin(a);
    return a;
}

void actor_kill(actor **a, size_t delivered)
{
    for (size_t i = 0; i < delivered; i++)
        for (int32_t p = 0; p < STAGE_PARTS; p++)
            actor_say(*a, p);
    async_lane_destroy(&(*a)->async_lane);
    assert_int_equal((*a)->lane.n_borrowed, 0);
    lane_notes_destroy(&(*a)->shared.notes);
    weights_view_destroy(&(*a)->shared.weights);
    weight_store_destroy(&(*a)->shared.store);
    net_waker_destroy(&(*a)->waker);
    free((*a)->floors);
    free((*a)->reports);
    free(*a);
    *a = NULL;
}

void actor_begin(actor *a)
{
    steps s = {.examples = a->stage->total, .batch_size = 1, .per_step = 1};
    a->n_reports = 0;
    must(async_lane_begin(a->async_lane, 1, 1, 1, &s, NULL));
}

void actor_lease(actor *a, int64_t batch, int64_t floor)
{
    a->floors[batch] = floor;
    must(async_lane_lease(a->async_lane, batch, floor, NULL));
}

static void answer(actor *a, int32_t part, wish w)
{
    message m = {.kind = PART, .batch = w.batch};
    a->kv->waits[part].batch = -1;
    if (floor_of(a->stage, part) < w.floor) {
        a->kv->waits[part] = w;
        return;
    }
    weights(a->stage, part, m.data);
    put(&a->kv->in[part], &m);
}

void actor_answer(actor *a)
{
    for (int32_t p = 0; p < STAGE_PARTS; p++)
        if (a->kv->waits[p].batch >= 0)
            answer(a, p, a->kv->waits[p]);
}

bool actor_say(actor *a, int32_t part)
{
    message m;
    float expected[STAGE_PART_N];
    if (!take(&a->kv->out[part], &m))
        return false;
    if (m.kind == PULL) {
        answer(a, part, (wish){m.batch, m.floor});
        return true;
    }
    gradient(part, m.batch, expected);
    assert_memory_equal(m.data, expected, sizeof expected);
    batch_set_add(&a->stage->applied[part], m.batch);
    put(&a->kv->in[part], &(message){.kind = PUSHED, .batch = m.batch});
    return true;
}

static void take_pushed(actor *a, int32_t part, int64_t batch)
{
    for (size_t i = 0; i < a->kv->n_pushes; i++)
        if (a->kv->pushes[i].part == part && a->kv->pushes[i].message.batch == batch) {
            push_end(a->kv, i);
            a->kv->hooks.pushed(a->kv->hooks.user, part, batch);
            return;
        }
}

bool actor_hear(actor *a, int32_t part)
{
    message m;
    if (!take(&a->kv->in[part], &m))
        return false;
    if (m.kind == PUSHED) {
        take_pushed(a, part, m.batch);
    } else if (a->kv->wanted[part].batch == m.batch) {
        a->kv->wanted[part].batch = -1;
        span weights = span_for_call(m.data, sizeof m.data);
        a->kv->hooks.part(a->kv->hooks.user,
                          &(kv_part){.part = part, .version = m.batch, .weights = &weights});
    }
    return true;
}

void actor_serve(actor *a)
{
    must(async_lane_serve(a->async_lane, NULL));
}

bool actor_take_report(actor *a, int64_t *ret_batch)
{
    if (!a->n_reports)
        return false;
    *ret_batch = a->reports[0];
    memmove(a->reports, a->reports + 1, --a->n_reports * sizeof *a->reports);
    return true;
}

void actor_redial(actor *a, int32_t part)
{
    kv *k = a->kv;
    k->out[part].n = k->in[part].n = 0;
    k->waits[part].batch = -1;
    if (k->wanted[part].batch >= 0)
        put(&k->out[part], &(message){.kind = PULL,
                                      .batch = k->wanted[part].batch,
                                      .floor = k->wanted[part].floor});
    for (size_t i = 0; i < k->n_pushes; i++)
        if (k->pushes[i].part == part)
            put(&k->out[part], &k->pushes[i].message);
}
