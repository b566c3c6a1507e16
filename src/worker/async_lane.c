#include "worker/async_lane.h"

#include "common/base/alloc.h"
#include "worker/lane_reducer.h"

#include <stdlib.h>
#include <string.h>

typedef struct lease {
    int64_t batch, floor;
} lease;

struct async_lane {
    async_lane_options o;
    kv *kv;
    lane_reducer *reducer;
    steps steps;
    status failed; /* of a hook; the next serve returns it */
    error failure;

    lease waiting[ASYNC_LANE_LEASES]; /* ascending */
    size_t n_waiting;
    bool busy;
    lease now;       /* busy: the lane has it */
    int32_t missing; /* live parts of `now` not here yet */
    int64_t *asked;  /* [n_live_parts] the batch a part was last asked for; -1 */

    int64_t pushing; /* batch whose pushes are not all acknowledged; -1: none */
    int32_t unacknowledged;
    bool computed; /* its last push is out: `result` stands */
    note result;

    note reports[ASYNC_LANE_REPORTS]; /* the last ones, [n_reported % ASYNC_LANE_REPORTS] is the next */
    int64_t n_reported;
};

/* --- life --- */

static void on_welcome(void *user, int32_t server, const Wire__Welcome *m)
{
    const async_lane *r = user;
    r->o.kv.hooks.welcome(r->o.kv.hooks.user, server, m);
}

static void on_refused(void *user, int32_t server, const wire_head *head, const Wire__Refused *m)
{
    const async_lane *r = user;
    r->o.kv.hooks.refused(r->o.kv.hooks.user, server, head, m);
}

static void async_lane_on_part(void *user, const kv_part *p)
{
    async_lane *r = user;
    if (r->failed != OK)
        return;
    r->failed = weights_view_put(r->o.shared.weights, p, &r->failure);
    r->missing -= r->busy && p->version == r->now.batch && p->part < r->o.flat->n_live_parts;
}

static void async_lane_on_taken(void *user, const kv_taking *t)
{
    const async_lane *r = user;
    weights_view_taken(r->o.shared.weights, t);
}

static void on_gone(void *user, int32_t part, int64_t newest)
{
    (void)user, (void)part, (void)newest; /* said of versions; the newest is never gone */
}

static status report(async_lane *r, const note *n, error *err)
{
    return r->o.done(r->o.user, n, err);
}

/* All servers have all parts of a computed batch. */
static status end_batch(async_lane *r, error *err)
{
    if (!r->computed || r->unacknowledged)
        return OK;
    note *kept = &r->reports[r->n_reported++ % ASYNC_LANE_REPORTS];
    slot_report_fini(&kept->measured);
    *kept = r->result;
    kept->measured = slot_report_copy(&r->result.measured);
    r->pushing = -1;
    r->computed = false;
    return report(r, &r->result, err);
}

static void on_pushed(void *user, int32_t part, int64_t batch)
{
    async_lane *r = user;
    (void)part;
    if (batch != r->pushing || r->failed != OK)
        return;
    r->unacknowledged--;
    r->failed = end_batch(r, &r->failure);
}

/* The note comes before the push. */
static status async_lane_on_measured(void *user, kv_beside *b, error *err)
{
    const async_lane *r = user;
    if (b->push->step != r->result.step)
        return OK;
    return reports_say(&r->result.measured, kv_say_beside, b, err);
}

status async_lane_create(const async_lane_options *options, async_lane **ret, error *err)
{
    async_lane *r = xcalloc(1, sizeof *r);
    r->o = *options;
    r->pushing = -1;
    r->asked = xcalloc((size_t)options->flat->n_live_parts, sizeof *r->asked);
    kv_options servers = options->kv;
    servers.memory = weights_view_store(options->shared.weights)->memory;
    servers.hooks = (kv_hooks){.welcome = on_welcome,
                               .part = async_lane_on_part,
                               .gone = on_gone,
                               .pushed = on_pushed,
                               .taken = async_lane_on_taken,
                               .measured = async_lane_on_measured,
                               .refused = on_refused,
                               .user = r};
    status st = kv_create(&servers, &r->kv, err);
    if (st == OK)
        st = lane_reducer_create(options->flat, 1, NULL, &r->reducer, err);
    if (st != OK) {
        async_lane_destroy(&r);
        return st;
    }
    lane_set_reducer(options->lane, r->reducer);
    *ret = r;
    return OK;
}

static void stop_lane(async_lane *r)
{
    lane_cancel(r->o.lane);
    lane_notes_drop(r->o.shared.notes);
    r->busy = false;
}

/* Memory under way goes first: kv gives pushes back, then the lane may end. */
void async_lane_destroy(async_lane **r)
{
    if (!r || !*r)
        return;
    kv_destroy(&(*r)->kv);
    stop_lane(*r);
    lane_reducer_destroy(&(*r)->reducer);
    slot_report_fini(&(*r)->result.measured);
    for (size_t i = 0; i < ASYNC_LANE_REPORTS; i++)
        slot_report_fini(&(*r)->reports[i].measured);
    free((*r)->asked);
    free(*r);
    *r = NULL;
}

status async_lane_begin(async_lane *r, uint64_t job_id, uint32_t era, uint32_t incarnation, const steps *s,
                        error *err)
{
    const flat *f = r->o.flat;
    TRY(kv_begin(r->kv, job_id, era, incarnation, f, NULL, err));
    stop_lane(r);
    lane_reducer_forget(r->reducer);
    weights_view_forget(r->o.shared.weights);
    r->steps = *s;
    r->n_waiting = 0;
    r->pushing = -1;
    r->unacknowledged = 0;
    r->computed = false;
    r->n_reported = 0;
    for (int32_t p = 0; p < f->n_live_parts; p++)
        r->asked[p] = -1;
    for (int32_t p = f->n_live_parts; p < f->n_parts; p++)
        TRY(kv_pull_newest(r->kv, p, 0, 0, err));
    return OK;
}

/* --- leases --- */

static void async_lane_keep(async_lane *r, lease l)
{
    size_t at = r->n_waiting++;
    for (; at > 0 && r->waiting[at - 1].batch > l.batch; at--)
        r->waiting[at] = r->waiting[at - 1];
    r->waiting[at] = l;
}

static status ask(async_lane *r, int32_t part, lease l, error *err)
{
    r->asked[part] = l.batch;
    return kv_pull_newest(r->kv, part, l.batch, l.floor, err);
}

/* The weights of `now`: asked for it, and come. */
static bool is_here(const async_lane *r, int32_t part)
{
    int64_t batch = r->now.batch;
    return r->asked[part] == batch && weights_view_version(r->o.shared.weights, part) == batch;
}

/* The lowest that waits goes to the lane, which waits for weights part by part. */
static status start_next(async_lane *r, error *err)
{
    if (r->busy || !r->n_waiting)
        return OK;
    r->now = r->waiting[0];
    r->n_waiting--;
    memmove(r->waiting, r->waiting + 1, r->n_waiting * sizeof *r->waiting);
    r->busy = true;
    r->missing = 0;
    for (int32_t p = 0; p < r->o.flat->n_live_parts; p++) {
        r->missing += !is_here(r, p);
        if (r->asked[p] != r->now.batch)
            TRY(ask(r, p, r->now, err));
    }
    lane_reducer_plan(r->reducer, r->now.batch, 1, (const uint32_t[]){0}, 1);
    lane_slot work = {.step = r->now.batch,
                      .n_slots = 1,
                      .batch = steps_slot(&r->steps, r->now.batch, 0),
                      .weight = 1,
                      .last = true};
    if (r->n_waiting)
        work.next[0] = (lane_next){steps_slot(&r->steps, r->waiting[0].batch, 0), 1};
    lane_give(r->o.lane, &work);
    return OK;
}

static const note *reported(const async_lane *r, int64_t batch)
{
    for (int64_t i = 0; i < r->n_reported && i < ASYNC_LANE_REPORTS; i++)
        if (r->reports[i].step == batch)
            return &r->reports[i];
    return NULL;
}

static bool async_lane_has(const async_lane *r, int64_t batch)
{
    for (size_t i = 0; i < r->n_waiting; i++)
        if (r->waiting[i].batch == batch)
            return true;
    return (r->busy && r->now.batch == batch) || r->pushing == batch;
}

status async_lane_lease(async_lane *r, int64_t batch, int64_t floor, error *err)
{
    const note *old = reported(r, batch);
    if (old)
        return report(r, old, err);
    bool gives_way = r->busy && batch < r->now.batch && r->missing;
    if (async_lane_has(r, batch) || r->n_waiting + gives_way >= ASYNC_LANE_LEASES)
        return OK;
    async_lane_keep(r, (lease){batch, floor});
    if (gives_way) {
        stop_lane(r);
        async_lane_keep(r, r->now);
    }
    TRY(start_next(r, err));
    step_slot next = steps_slot(&r->steps, batch, 0);
    if (r->now.batch != batch)
        lane_read_ahead(r->o.lane, &next);
    return OK;
}

/* --- from the lane --- */

/* The lane is done with a part of `now`: its gradient goes out, the next batch may have its
 * place. */
static status async_lane_take_ready(async_lane *r, const note *n, error *err)
{
    if (r->pushing != n->step) {
        r->pushing = n->step;
        r->unacknowledged = 0;
    }
    r->unacknowledged++;
    TRY(kv_push(r->kv, n->part, n->step, 1, n->node, n->sum, err));
    return r->n_waiting ? ask(r, n->part, r->waiting[0], err) : OK;
}

static status take_done(async_lane *r, error *err)
{
    r->busy = false;
    r->computed = true;
    TRY(end_batch(r, err));
    return start_next(r, err);
}

static void take_result(async_lane *r, const note *n)
{
    slot_report_fini(&r->result.measured);
    r->result = *n;
}

status async_lane_serve(async_lane *r, error *err)
{
    note n;
    TRY(kv_serve(r->kv, err));
    while (r->busy && !r->missing && lane_notes_take(r->o.shared.notes, r->now.batch, &n)) {
        if (n.kind == NOTE_READY)
            TRY(async_lane_take_ready(r, &n, err));
        else if (n.kind == NOTE_MEASURED)
            take_result(r, &n);
        else
            TRY(take_done(r, err));
    }
    TRY(lane_notes_failure(r->o.shared.notes, err));
    return r->failed == OK ? OK : FAIL(err, r->failed, "%s", r->failure.text);
}

status async_lane_tick(async_lane *r, error *err)
{
    return kv_tick(r->kv, err);
}

/* --- for messages --- */

kv *async_lane_kv(const async_lane *r)
{
    return r->kv;
}

int64_t async_lane_reported(const async_lane *r)
{
    return r->n_reported;
}

bool async_lane_is_computing(const async_lane *r)
{
    return r->busy && !r->missing;
}

bool async_lane_is_waiting(const async_lane *r, int64_t *ret_batch, int32_t *ret_part)
{
    if (!r->busy || !r->missing)
        return false;
    *ret_batch = r->now.batch;
    for (*ret_part = 0; is_here(r, *ret_part);)
        ++*ret_part;
    return true;
}
