#include "ps/cut.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/thread.h"
#include "common/live/recorder.h"
#include "ps/throttle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct frozen {
    bool is;
    span *weights;
    span *slots[OPTIM_SLOTS];
    batch_set applied;              /* by a live part */
} frozen;

typedef struct cut {
    uint32_t id;
    int32_t shard;
    int64_t version;
    char *dir;
    bool must, rests;               /* a disk did not take it: it is written when that is asked for */
    int64_t batches;
    loss_scale scale;
    int32_t missing;                /* parts not frozen yet */
    frozen *parts;                  /* [n_parts] */
    cut_result result;
    struct cut *next;
} cut;

/* The newest results: the master may ask for them again. */
typedef struct past {
    cut_result result;
    bool is_asked_for;
} past;

enum { PAST = 16 };

struct cuts {
    cuts_options o;
    holders *shards;                /* [n_servers] */
    uint64_t freezes;
    cut *open;                      /* announced, not complete or not ours to write; the server's */
    pthread_t writer;
    bool writer_runs;
    pthread_mutex_t lock;
    pthread_cond_t work;
    bool stop;                      /* under lock, like the lists */
    cut *complete, *writing, *done;
    throttle throttle;                      /* of the writer, while training goes on */
    int64_t at_work_us;             /* since when it has not rested; the writer's */
    past past[PAST];                /* told already; the server's */
    size_t n_past;
};

static void cut_append(cut **list, cut *c)
{
    while (*list)
        list = &(*list)->next;
    c->next = NULL;
    *list = c;
}

static cut *pop(cut **list)
{
    cut *c = *list;
    if (c)
        *list = c->next;
    return c;
}

static void cut_free(const cuts *c, cut *one)
{
    for (int32_t p = 0; one && p < c->o.flat->n_parts; p++) {
        span_drop(one->parts[p].weights);
        for (size_t i = 0; i < OPTIM_SLOTS; i++)
            span_drop(one->parts[p].slots[i]);
        batch_set_fini(&one->parts[p].applied);
    }
    if (one) {
        free(one->parts);
        free(one->dir);
        free(one);
    }
}

/* After each piece. Who ends, or has another cut behind this one, does not wait. */
static void rest_a_while(void *user)
{
    cuts *c = user;
    int64_t now = clock_us(), due = now + throttle_pause_us(&c->throttle, now - c->at_work_us, now);
    pthread_mutex_lock(&c->lock);
    while (due > now && !c->stop && !c->complete && thread_cond_wait_until(&c->work, &c->lock, due))
        ;
    pthread_mutex_unlock(&c->lock);
    c->at_work_us = clock_us();
}

static void write_cut(cuts *c, cut *one)
{
    cut_result *r = &one->result;
    r->id = one->id;
    r->shard = one->shard;
    r->version = one->version;
    r->batches = one->batches;
    r->scale = one->scale;
    snprintf(r->file, sizeof r->file, "ps-%d-of-%d.safetensors", one->shard, c->o.n_servers);
    if (r->status == OK && c->o.dir)
        r->status = jobdir_check_there(c->o.dir, &r->error);
    if (r->status != OK)
        return; /* also of a part that could not be read */
    shard_part *parts = xcalloc((size_t)c->o.flat->n_parts + 1, sizeof *parts);
    size_t n = 0;
    for (int32_t p = 0; p < c->o.flat->n_parts; p++) {
        const frozen *f = &one->parts[p];
        if (!f->is)
            continue;
        parts[n] = (shard_part){.part = p, .weights = f->weights->floats};
        for (size_t i = 0; i < c->o.n_slots; i++)
            parts[n].slots[i] = f->slots[i] ? f->slots[i]->floats : NULL;
        parts[n].applied = c->o.lists_units && !c->o.flat->parts[p].frozen ? &f->applied : NULL;
        n++;
    }
    char *path = xasprintf("%s/%s", one->dir, r->file);
    c->at_work_us = clock_us();
    RECORDER_BEGIN(1, .kind = EVENT_WRITE_SHARD, .lane = -1, .step = one->version, .a = one->shard,
                   .at_us = c->at_work_us);
    r->status = shard_write(
        &(shard_request){
            .path = path,
            .flat = c->o.flat,
            .parts = parts,
            .n_parts = n,
            .slot_names = c->o.slot_names,
            .n_slots = c->o.n_slots,
            .step = one->version,
            .after_piece = rest_a_while,
            .user = c,
        },
        r->sha256, &r->bytes, &r->error);
    recorder_end(-1, EVENT_WRITE_SHARD, 1, clock_us());
    free(path);
    free(parts);
}

static void *writer_run(void *arg)
{
    cuts *c = arg;
    thread_give_way();
    pthread_mutex_lock(&c->lock);
    for (;;) {
        cut *one = pop(&c->complete);
        if (!one && c->stop)
            break;
        if (!one) {
            pthread_cond_wait(&c->work, &c->lock);
            continue;
        }
        c->writing = one;
        pthread_mutex_unlock(&c->lock);
        write_cut(c, one);
        pthread_mutex_lock(&c->lock);
        c->writing = NULL;
        cut_append(&c->done, one);
        net_waker_wake(c->o.waker);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static bool is_ours(const cuts *c, int32_t shard)
{
    return c->shards[shard].acting == c->o.server;
}

/* Acted for, or a copy that is complete or will be. */
static bool is_held(const cuts *c, int32_t shard)
{
    return is_ours(c, shard) || c->shards[shard].standby == c->o.server;
}

/* Takes a cut out of those that are open. */
static cut *cut_take_out(cuts *c, cut *one)
{
    cut **at = &c->open;
    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
    return one;
}

/* All parts are frozen: it is written, by the one who acts. */
static void hand_to_writer(cuts *c, cut *one)
{
    if (one->missing || one->rests || !is_ours(c, one->shard))
        return;
    cut_take_out(c, one);
    pthread_mutex_lock(&c->lock);
    cut_append(&c->complete, one);
    pthread_cond_signal(&c->work);
    pthread_mutex_unlock(&c->lock);
}

/* Lets go of the open cuts that are `id` (0: none), or that a standby keeps of versions that are saved. */
static void withdraw(cuts *c, uint32_t id, int64_t saved)
{
    for (cut *one = c->open, *next; one; one = next) {
        next = one->next;
        if (one->id == id || (one->version <= saved && !is_ours(c, one->shard)))
            cut_free(c, cut_take_out(c, one));
    }
}

void cuts_hold(cuts *c, const holders *shards, int64_t saved)
{
    withdraw(c, 0, saved);
    memcpy(c->shards, shards, (size_t)c->o.n_servers * sizeof *shards);
    throttle_forget(&c->throttle);
    for (cut *one = c->open, *next; one; one = next) {
        next = one->next;
        const holders *h = &shards[one->shard];
        one->rests = false;
        if (h->acting == c->o.server || (h->standby == c->o.server && h->is_backed))
            hand_to_writer(c, one);
        else
            cut_free(c, cut_take_out(c, one));
    }
}

status cuts_create(const cuts_options *options, cuts **ret, error *err)
{
    cuts *c = xcalloc(1, sizeof *c);
    c->o = *options;
    c->shards = xcalloc((size_t)options->n_servers, sizeof *c->shards);
    cuts_hold(c, options->shards, -1);
    pthread_mutex_init(&c->lock, NULL);
    thread_cond_init(&c->work);
    status st = thread_start(&c->writer, "checkpoint", writer_run, c, err);
    c->writer_runs = st == OK;
    if (st != OK)
        cuts_destroy(&c);
    else
        *ret = c;
    return st;
}

void cuts_destroy(cuts **c)
{
    if (!c || !*c)
        return;
    if ((*c)->writer_runs) {
        pthread_mutex_lock(&(*c)->lock);
        (*c)->stop = true;
        pthread_cond_signal(&(*c)->work);
        pthread_mutex_unlock(&(*c)->lock);
        pthread_join((*c)->writer, NULL);
    }
    for (cut *one; (one = pop(&(*c)->open));)
        cut_free(*c, one);
    for (cut *one; (one = pop(&(*c)->done));)
        cut_free(*c, one);
    pthread_cond_destroy(&(*c)->work);
    pthread_mutex_destroy(&(*c)->lock);
    free((*c)->shards);
    free(*c);
    *c = NULL;
}

static void cut_freeze(cuts *c, table *t, cut *one, int32_t part)
{
    frozen *f = &one->parts[part];
    if (f->is)
        return;
    f->is = true;
    c->freezes++;
    if (one->result.status == OK)
        one->result.status = table_freeze(t, part, &f->weights, f->slots, &one->result.error);
    if (!c->o.flat->parts[part].frozen) {
        one->batches = table_batches(t, part);
        one->scale = table_scale(t, part, table_version(t, part));
        batch_set_copy(&f->applied, table_applied(t, part));
        BUG_ON(batch_set_count(&f->applied) != one->version);
    }
    one->missing--;
}

static bool is_in(const cut *list, uint32_t id, int32_t shard)
{
    while (list && (list->id != id || list->shard != shard))
        list = list->next;
    return list != NULL;
}

static bool cut_is_known(cuts *c, uint32_t id, int32_t shard)
{
    for (size_t i = 0; i < PAST && i < c->n_past; i++)
        if (c->past[i].result.id == id && c->past[i].result.shard == shard)
            return c->past[i].is_asked_for = true;
    pthread_mutex_lock(&c->lock);
    bool is = is_in(c->complete, id, shard) || is_in(c->done, id, shard) ||
              (c->writing && c->writing->id == id && c->writing->shard == shard);
    pthread_mutex_unlock(&c->lock);
    return is || is_in(c->open, id, shard);
}

/* One that rests is written again. */
static void resume(cuts *c, uint32_t id, int32_t shard)
{
    for (cut *one = c->open, *next; one; one = next) {
        next = one->next;
        if (one->id != id || one->shard != shard || !one->rests)
            continue;
        one->rests = false;
        hand_to_writer(c, one);
    }
}

/* Is some part of the shard past `version`? */
static bool is_past(const cuts *c, const table *t, int32_t shard, int64_t version)
{
    for (int32_t p = 0; p < c->o.flat->n_live_parts; p++)
        if (c->o.placement[p] == shard && table_version(t, p) > version)
            return true;
    return false;
}

/* Has a part gone by what it was to be frozen at? A copy came when it was past it already. */
static bool is_missed(const cuts *c, const table *t, const cut *one)
{
    for (int32_t p = 0; p < c->o.flat->n_live_parts; p++)
        if (c->o.placement[p] == one->shard && !one->parts[p].is && table_is_complete(t, p) &&
            table_version(t, p) > one->version)
            return true;
    return false;
}

/* What can never be complete any more is as if it had not been begun. */
static void let_missed_go(cuts *c, const table *t)
{
    for (cut *one = c->open, *next; one; one = next) {
        next = one->next;
        if (is_missed(c, t, one))
            cut_free(c, cut_take_out(c, one));
    }
}

static void cut_open(cuts *c, table *t, const cut_call *call, int32_t shard)
{
    cut *one = xcalloc(1, sizeof *one);
    one->id = call->id;
    one->shard = shard;
    one->version = call->version;
    one->dir = xstrdup(call->dir);
    one->must = call->must;
    one->batches = -1;
    one->parts = xcalloc((size_t)c->o.flat->n_parts, sizeof *one->parts);
    for (int32_t p = 0; p < c->o.flat->n_parts; p++)
        one->missing += c->o.placement[p] == shard;
    cut_append(&c->open, one);
    for (int32_t p = 0; p < c->o.flat->n_parts; p++)
        if (c->o.placement[p] == shard && table_is_complete(t, p) &&
            (c->o.flat->parts[p].frozen || table_version(t, p) == call->version))
            cut_freeze(c, t, one, p);
    hand_to_writer(c, one);
}

void cuts_announce(cuts *c, table *t, const cut_call *call, bool *ret_late)
{
    *ret_late = false;
    withdraw(c, call->replaces, call->saved);
    let_missed_go(c, t);
    for (int32_t i = 0; i < c->o.n_servers; i++) {
        if (!is_held(c, i))
            continue;
        if (cut_is_known(c, call->id, i))
            resume(c, call->id, i);
        else if (!is_past(c, t, i, call->version))
            cut_open(c, t, call, i);
        else
            *ret_late |= is_ours(c, i);
    }
}

void cuts_applied(cuts *c, table *t, int32_t part, int64_t version)
{
    throttle_moved(&c->throttle, version, clock_us());
    for (cut *one = c->open, *next; one; one = next) {
        next = one->next;
        if (one->shard != c->o.placement[part] ||
            (one->version != version && !c->o.flat->parts[part].frozen))
            continue;
        cut_freeze(c, t, one, part);
        hand_to_writer(c, one);
    }
}

uint64_t cuts_freezes(const cuts *c)
{
    return c->freezes;
}

int64_t cuts_next(const cuts *c)
{
    int64_t next = -1;
    for (const cut *one = c->open; one; one = one->next)
        next = one->missing && (next < 0 || one->version < next) ? one->version : next;
    return next;
}

bool cuts_under_way(const cuts *c)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&c->lock;
    pthread_mutex_lock(lock);
    bool any = c->open || c->complete || c->writing || c->done;
    pthread_mutex_unlock(lock);
    return any;
}

static bool next_again(cuts *c, cut_result *ret)
{
    for (size_t i = 0; i < PAST; i++)
        if (c->past[i].is_asked_for) {
            c->past[i].is_asked_for = false;
            *ret = c->past[i].result;
            return true;
        }
    return false;
}

/* Its blocks are kept: nobody else has those of that version. */
static void rest_until_asked(cuts *c, cut *one)
{
    one->result = (cut_result){.status = OK};
    one->rests = true;
    cut_append(&c->open, one);
}

bool cuts_next_result(cuts *c, cut_result *ret)
{
    pthread_mutex_lock(&c->lock);
    cut *one = pop(&c->done);
    pthread_mutex_unlock(&c->lock);
    if (!one)
        return next_again(c, ret);
    *ret = one->result;
    bool is_told = ret->status == OK || is_ours(c, ret->shard); /* else who acts now tries */
    if (ret->status == OK)
        c->past[c->n_past++ % PAST] = (past){.result = *ret};
    if (is_told && one->must && fs_is_cause(ret->status))
        rest_until_asked(c, one);
    else
        cut_free(c, one);
    return is_told || cuts_next_result(c, ret);
}
