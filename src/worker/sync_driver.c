#include "worker/sync_driver.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/live/recorder.h"

#include <stdlib.h>

enum { MARGIN = 2, MARGIN_MAX = 1024 };

struct sync_driver {
    sync_driver_options o;
    kv *kv;
    status failed;              /* of a hook; the next serve returns it */
    error failure;
    lane_slots slots;           /* of the step held, or the one after it */
    int64_t start;              /* the version begun with */
    int64_t held;               /* version held completely; start - 1 before the first */
    int64_t limit;
    bool ahead;                 /* that one is still to come: no slot is owed from it on */
    int64_t margin;             /* how far ahead to begin the next time */
    int32_t missing;            /* parts of version held + 1 not here yet */
};

static void cancel_lanes(sync_driver *f)
{
    for (int32_t i = 0; i < f->o.n_lanes; i++)
        lane_cancel(f->o.lanes[i]);
    if (f->o.peers)
        peers_reset(f->o.peers);
    lane_notes_drop(f->o.shared.notes);
}

/* Everything under way is dropped; every part is asked for. The share stays. */
static status begin_at(sync_driver *f, int64_t step, error *err)
{
    cancel_lanes(f);
    lane_slots_restart(&f->slots, step);
    f->start = step;
    f->held = step - 1;
    f->ahead = false;
    weights_view_forget(f->o.shared.weights);
    f->missing = f->o.flat->n_parts;
    for (int32_t p = 0; p < f->o.flat->n_parts; p++)
        TRY(kv_pull(f->kv, p, step, err));
    return OK;
}

status sync_driver_begin(sync_driver *f, const sync_driver_era *e, error *err)
{
    const wire_head *id = e->identity;
    TRY(kv_begin(f->kv, id->job_id, id->era, id->incarnation, f->o.flat, e->acting, err));
    cancel_lanes(f);
    TRY(lane_slots_begin(&f->slots, &e->steps, f->o.store, err));
    f->limit = e->limit;
    f->margin = MARGIN;
    return begin_at(f, e->step, err);
}

/* --- what may go --- */

/* Nothing of ours reads the weights of the version held: ask for the next one. */
static status ask_next(sync_driver *f, error *err)
{
    for (int32_t p = 0; p < f->o.flat->n_live_parts; p++)
        TRY(kv_pull(f->kv, p, f->held + 1, err));
    return OK;
}

/* Lanes that are done get the next step, at most one ahead of the version held. */
static status sync_driver_turn(sync_driver *f, error *err)
{
    lane_slots *l = &f->slots;
    while (!l->owed && l->given <= f->held && l->given + 1 < f->limit) {
        lane_slots_next(l);
        if (!lane_slots_give(l, f->limit) && l->given == f->held)
            TRY(ask_next(f, err));
    }
    weights_view_hold(f->o.shared.weights, sync_driver_is_held_back(f));
    return OK;
}

/* The slots of a step may come late, with a new view: what they will read may be overwritten or
 * asked for already, so the version held is pulled again. */
static status give_late(sync_driver *f, error *err)
{
    bool was_read = f->slots.given == f->held;
    for (int32_t p = 0; was_read && p < f->o.flat->n_live_parts; p++) {
        if (f->slots.readers[p])
            continue;
        if (weights_view_version(f->o.shared.weights, p) == f->held + 1)
            f->missing++;
        if (weights_view_version(f->o.shared.weights, p) != f->held)
            weights_view_drop(f->o.shared.weights, p);
        TRY(kv_pull(f->kv, p, f->held, err));
    }
    lane_slots_give(&f->slots, f->limit);
    return OK;
}

status sync_driver_own(sync_driver *f, const lane_share *share, error *err)
{
    lane_slots *l = &f->slots;
    TRY(lane_slots_own(l, share, err));
    if (f->ahead && lane_slots_any_own(l))
        TRY(begin_at(f, share->since, err));
    if (l->given > f->held && sync_driver_is_whole(f) && lane_slots_owe_before(l)) {
        cancel_lanes(f);        /* they cannot have got far: version held + 1 is not here */
        lane_slots_back(l);
    }
    /* at the limit the last step given may be over: nothing of it is owed */
    if (l->given >= f->held && l->given >= f->start && lane_slots_owe(l))
        TRY(give_late(f, err));
    return sync_driver_turn(f, err);
}

status sync_driver_limit(sync_driver *f, int64_t limit, error *err)
{
    f->limit = limit; /* it also falls, while the master's disk takes nothing: no step is begun then */
    return sync_driver_turn(f, err);
}

/* --- from the servers: kv's hooks --- */

static status version_complete(sync_driver *f, error *err)
{
    f->held++;
    RECORDER_NOTE(.kind = EVENT_HELD, .lane = -1, .step = f->held, .at_us = clock_us());
    f->missing = f->o.flat->n_live_parts;
    f->ahead = false;
    f->margin = MARGIN;
    if (f->slots.given == f->held && !f->slots.n_given)
        TRY(ask_next(f, err));
    return sync_driver_turn(f, err);
}

static status sync_driver_part(sync_driver *f, const kv_part *p, error *err)
{
    bool is_wanted = p->version == f->held || p->version == f->held + 1;
    if (!is_wanted || weights_view_version(f->o.shared.weights, p->part) == p->version)
        return OK;                  /* lanes may be reading what is here */
    TRY(weights_view_put(f->o.shared.weights, p, err));
    if (p->version == f->held + 1 && --f->missing == 0)
        return version_complete(f, err);
    return OK;
}

/* One version below the newest of a part all parts have been, and their next step may be owed. A
 * part that was restored at its newest has no older one, and then nobody owes the step before. */
static int64_t lowest_owed(const sync_driver *f, int64_t newest)
{
    bool asks_for_first = !sync_driver_is_whole(f) && newest - 1 <= f->start;
    return asks_for_first ? newest : newest - 1;
}

/* The next time further ahead, if the servers are faster than the question. */
static int64_t still_to_come(sync_driver *f, int64_t newest)
{
    int64_t to = newest + f->margin;
    if (f->margin < MARGIN_MAX)
        f->margin *= 2;
    return to > f->limit && f->limit > newest ? f->limit : to;
}

/* The version we follow is gone: the servers are further. */
static status sync_driver_gone(sync_driver *f, int64_t newest, error *err)
{
    bool ahead = !lane_slots_any_own(&f->slots);
    TRY(begin_at(f, ahead ? still_to_come(f, newest) : lowest_owed(f, newest), err));
    f->ahead = ahead;
    return sync_driver_turn(f, err);
}

static void on_welcome(void *user, int32_t server, const Wire__Welcome *m)
{
    const sync_driver *f = user;
    f->o.kv.hooks.welcome(f->o.kv.hooks.user, server, m);
}

static void on_refused(void *user, int32_t server, const wire_head *head, const Wire__Refused *m)
{
    const sync_driver *f = user;
    f->o.kv.hooks.refused(f->o.kv.hooks.user, server, head, m);
}

static status on_measured(void *user, kv_beside *b, error *err)
{
    const sync_driver *f = user;
    return f->o.kv.hooks.measured(f->o.kv.hooks.user, b, err);
}

static void on_part(void *user, const kv_part *p)
{
    sync_driver *f = user;
    if (f->failed == OK)
        f->failed = sync_driver_part(f, p, &f->failure);
}

static void sync_driver_on_taken(void *user, const kv_taking *t)
{
    const sync_driver *f = user;
    weights_view_taken(f->o.shared.weights, t);
}

static void sync_driver_on_gone(void *user, int32_t part, int64_t newest)
{
    sync_driver *f = user;
    (void)part;
    if (f->failed == OK)
        f->failed = sync_driver_gone(f, newest, &f->failure);
}

/* --- from the lanes --- */

static status push_sum(sync_driver *f, const note *n, error *err)
{
    if (!n->sum)
        return OK;
    uint32_t slots = steps_slots(&f->slots.steps, n->step);
    return kv_push(f->kv, n->part, n->step, slots, n->node, n->sum, err);
}

static status take_ready(sync_driver *f, const note *n, error *err)
{
    TRY(push_sum(f, n, err));
    return lane_slots_read(&f->slots, n->part) ? kv_pull(f->kv, n->part, n->step + 1, err) : OK;
}

static status take_notes(sync_driver *f, error *err)
{
    note n;
    /* the end of a step may be noted after its last part made the next version complete */
    while (lane_notes_take(f->o.shared.notes, f->held - 1, &n) ||
           lane_notes_take(f->o.shared.notes, f->held, &n)) {
        if (n.kind == NOTE_READY) {
            TRY(take_ready(f, &n, err));
            continue;
        }
        if (n.kind == NOTE_SUM) {
            TRY(push_sum(f, &n, err));
            continue;
        }
        if (n.kind == NOTE_MEASURED) {
            status st = f->o.measured(f->o.user, &n, err);
            slot_report_fini(&n.measured);
            TRY(st);
            continue;
        }
        lane_slots_done(&f->slots, n.at_us);
        TRY(sync_driver_turn(f, err));
    }
    return lane_notes_failure(f->o.shared.notes, err);
}

status sync_driver_serve(sync_driver *f, error *err)
{
    TRY(kv_serve(f->kv, err));
    if (f->failed != OK)
        return FAIL(err, f->failed, "%s", f->failure.text);
    return f->slots.reducer ? take_notes(f, err) : OK;
}

/* --- life --- */

status sync_driver_create(const sync_driver_options *options, sync_driver **ret, error *err)
{
    sync_driver *f = xcalloc(1, sizeof *f);
    f->o = *options;
    f->held = -1;
    lane_slots_init(&f->slots, options->flat, options->lanes, options->n_lanes, options->peers);
    kv_options servers = options->kv;
    servers.memory = weights_view_store(options->shared.weights)->memory;
    servers.hooks = (kv_hooks){.welcome = on_welcome,
                               .part = on_part,
                               .gone = sync_driver_on_gone,
                               .taken = sync_driver_on_taken,
                               .measured = on_measured,
                               .refused = on_refused,
                               .user = f};
    status st = kv_create(&servers, &f->kv, err);
    if (st != OK)
        sync_driver_destroy(&f);
    else
        *ret = f;
    return st;
}

void sync_driver_destroy(sync_driver **f)
{
    if (!f || !*f)
        return;
    kv_destroy(&(*f)->kv);
    cancel_lanes(*f);
    lane_slots_fini(&(*f)->slots);
    free(*f);
    *f = NULL;
}

/* --- what others ask --- */

kv *sync_driver_kv(const sync_driver *f)
{
    return f->kv;
}

int64_t sync_driver_step(const sync_driver *f)
{
    return f->held;
}

bool sync_driver_is_whole(const sync_driver *f)
{
    return f->held >= f->start;
}

int32_t sync_driver_missing(const sync_driver *f, int32_t *ret_first_part)
{
    *ret_first_part = -1;
    for (int32_t p = 0; p < f->o.flat->n_parts && *ret_first_part < 0; p++)
        if (!f->o.flat->parts[p].frozen && weights_view_version(f->o.shared.weights, p) != f->held + 1)
            *ret_first_part = p;
    return f->missing;
}

bool sync_driver_is_held_back(const sync_driver *f)
{
    return f->held >= f->limit;
}

int64_t sync_driver_computing(const sync_driver *f)
{
    return f->slots.owed > 0 ? f->slots.given : -1;
}

int64_t sync_driver_delivered(const sync_driver *f)
{
    int64_t done = f->slots.done;
    return done >= 0 && !kv_is_pushing(f->kv, done) ? done : -1;
}
