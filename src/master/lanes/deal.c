#include "master/lanes/state.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* By which a deal must be quicker to be worth a change: this, and once more divided by the steps measured. */
static const double gain = 1.05;
static const double loss = 1.05;   /* by which steps are slower when a deal is taken back... */
static const double failure = 1.3; /* ...soon */
/* Steps after which it is judged, and by which it may be seen to be quite wrong; the newest ones. */
enum { JUDGED = 15, JUDGED_SOON = 5, NEWEST = 3 };

#define DOUBT_US INT64_C(30000000) /* after a deal that was taken back; and at most: */
#define DOUBT_MOST_US INT64_C(600000000)

deal *deal_create(const steps *s, int64_t step, bool rebalances)
{
    deal *d = xcalloc(1, sizeof *d);
    d->n_slots = (uint32_t)s->per_step;
    d->rebalances = rebalances;
    d->owners = xcalloc(d->n_slots, sizeof *d->owners);
    d->since = xcalloc(d->n_slots, sizeof *d->since);
    d->last = (last_deal){.owners = xcalloc(d->n_slots, sizeof *d->owners), .doubt_us = DOUBT_US};
    open_step_init(&d->open, s, step, 0);
    hedges_init(&d->hedges, d->n_slots);
    d->pace = pace_create();
    return d;
}

void deal_destroy(deal **d)
{
    if (!d || !*d)
        return;
    pace_destroy(&(*d)->pace);
    trials_fini(&(*d)->trials);
    hedges_fini(&(*d)->hedges);
    open_step_fini(&(*d)->open);
    free((*d)->last.owners);
    free((*d)->since);
    free((*d)->owners);
    free(*d);
    *d = NULL;
}

void deal_restart(deal *d, int64_t step)
{
    steps s = d->open.steps;
    open_step_fini(&d->open);
    open_step_init(&d->open, &s, step, 0);
    hedges_clear(&d->hedges);
    d->is_dealt = d->last.is_judged = d->trials.is_on = false;
}

const view_lane *deal_owners(const deal *d)
{
    return d->is_dealt ? d->owners : NULL;
}

const view_lane *deal_hedge(const deal *d, uint32_t slot)
{
    return hedges_of(&d->hedges, slot);
}

int64_t deal_open_step(const deal *d)
{
    return d->open.step;
}

bool deal_awaits(const deal *d, const view_lane *worker)
{
    for (uint32_t k = 0; k < d->open.n_slots; k++)
        if (!d->open.is_in[k] && view_same_worker(&d->owners[k], worker))
            return true;
    return false;
}

/* --- dealing --- */

static idleness idleness_of(const deal *d, const share_worker *w)
{
    if (!deal_has_slots(d, &w->name))
        return IDLE_WORKER;
    view_lane lane = w->name;
    for (lane.lane = 0; lane.lane < w->n_lanes; lane.lane++)
        if (!deal_lane_has_slots(d, &lane))
            return IDLE_LANES;
    return IDLE_NOTHING;
}

static void take_owners(deal *d, const model *m, const view_lane *owners, uint32_t view, int64_t now_us)
{
    for (uint32_t k = 0; k < d->n_slots; k++)
        deal_give(d, k, &owners[k], view);
    hedges_clear(&d->hedges);
    d->is_dealt = true;
    open_step_deal(&d->open);
    d->trials.is_on = false;
    d->last.is_judged = false;
    for (size_t i = 0; i < m->n; i++)
        trials_note(&d->trials, &m->workers[i].name, idleness_of(d, &m->workers[i]), now_us);
}

static model make_model(const deal *d, const hedge_lane *lanes, size_t n_lanes)
{
    model m = model_make(d->rebalances ? d->pace : NULL, lanes, n_lanes);
    for (size_t i = 0; i < m.n; i++)
        m.workers[i].barred = trials_is_barred(&d->trials, &m.workers[i].name);
    return m;
}

static void deal_by(deal *d, const model *m, uint32_t view, int64_t now_us)
{
    view_lane *owners = xcalloc(d->n_slots, sizeof *owners);
    shares_deal(m->workers, m->n, d->n_slots, owners);
    take_owners(d, m, owners, view, now_us);
    free(owners);
}

void deal_anew(deal *d, const hedge_lane *lanes, size_t n_lanes, uint32_t view, int64_t now_us)
{
    model m = make_model(d, lanes, n_lanes);
    if (!d->is_dealt)
        open_step_pause(&d->open, now_us);
    deal_by(d, &m, view, now_us);
    d->next_us = now_us + DEAL_LOOK_US;
    model_fini(&m);
}

void deal_forget_worker(deal *d, const view_lane *worker)
{
    pace_forget_worker(d->pace, worker);
    trials_forget(&d->trials, worker);
}

/* --- changes --- */

/* The steps in which each that has slots was measured with them. */
static size_t measured_turns(const deal *d, const model *m)
{
    size_t least = RECENT_KEPT;
    for (size_t i = 0; i < m->n; i++) {
        size_t n = pace_turns(d->pace, &m->workers[i].name);
        if (deal_has_slots(d, &m->workers[i].name) && n < least)
            least = n;
    }
    return least;
}

/* How long steps take now: as the last ones have, or as the model says where one of the newest took so long. */
static double usual_step_s(const deal *d, double model_s)
{
    const recent *times_s = &d->open.times_s;
    return fmax(recent_median(times_s), fmin(model_s, recent_most(&d->open.all_s, NEWEST)));
}

static bool rebalance(deal *d, const model *m, uint32_t view, int64_t now_us)
{
    size_t n = measured_turns(d, m);
    if (!n)
        return false;
    view_lane *owners = xcalloc(d->n_slots, sizeof *owners);
    shares_deal(m->workers, m->n, d->n_slots, owners);
    double step_s = shares_step(m->workers, m->n, d->owners, d->n_slots);
    bool pays = step_s > (gain + 1.0 / (double)n) * shares_step(m->workers, m->n, owners, d->n_slots);
    if (pays) {
        step_s = usual_step_s(d, step_s);
        memcpy(d->last.owners, d->owners, d->n_slots * sizeof *owners);
        take_owners(d, m, owners, view, now_us);
        d->last.step_s = step_s;
        d->last.is_judged = step_s > 0;
    }
    free(owners);
    return pays;
}

/* Steps take longer than with the deal before. If the model has seen that since it deals anew; else that one
 * comes back, and the model is not trusted for a while, longer each time. */
static void deal_mend(deal *d, const model *m, double measured_s, uint32_t view, int64_t now_us)
{
    bool is_explained = measured_s <= failure * shares_step(m->workers, m->n, d->owners, d->n_slots);
    if (is_explained && rebalance(d, m, view, now_us)) {
        d->next_us = now_us + DEAL_EVERY_US;
        return;
    }
    take_owners(d, m, d->last.owners, view, now_us);
    d->next_us = now_us + d->last.doubt_us;
    d->last.doubt_us = d->last.doubt_us < DOUBT_MOST_US / 2 ? 2 * d->last.doubt_us : DOUBT_MOST_US;
}

/* True: slots are dealt anew. */
static bool deal_judge(deal *d, const model *m, uint32_t view, int64_t now_us)
{
    const recent *times_s = &d->open.dealt_s;
    double step_s = recent_median(times_s);
    if (!d->last.is_judged || times_s->n < JUDGED_SOON)
        return false;
    bool fails = step_s > failure * d->last.step_s;
    if (!fails && times_s->n < JUDGED)
        return false;
    d->last.is_judged = false;
    bool is_slower = fails || step_s > loss * d->last.step_s;
    if (is_slower)
        deal_mend(d, m, step_s, view, now_us);
    else
        d->last.doubt_us = DOUBT_US;
    return is_slower;
}

/* With the lanes' and links' pace. */
static deal_change look_at_pace(deal *d, const hedge_lane *lanes, size_t n_lanes, uint32_t view,
                                int64_t now_us)
{
    deal_change change = DEAL_SAME;
    bool barred = trials_bar(&d->trials, now_us);
    model m = make_model(d, lanes, n_lanes);
    d->next_us = now_us + DEAL_LOOK_US;
    if (barred)
        deal_by(d, &m, view, now_us);
    if (barred || (!d->last.is_judged && rebalance(d, &m, view, now_us))) {
        change = DEAL_REBALANCED;
        d->next_us = now_us + DEAL_EVERY_US;
    } else if (deal_judge(d, &m, view, now_us)) {
        change = DEAL_REBALANCED;
    } else if (n_lanes <= d->n_slots && !d->last.is_judged && deal_begin_trial(d, &m, view, now_us)) {
        change = DEAL_TRIED;
    }
    model_fini(&m);
    return change;
}

static bool look_for_late(deal *d, const hedge_lane *lanes, size_t n_lanes, uint32_t view, int64_t now_us)
{
    hedge_scene scene = {
        .owners = d->owners, .open = &d->open, .lanes = lanes, .n_lanes = n_lanes, .view = view};
    if (!hedges_any_late(&scene, now_us))
        return false;
    model m = make_model(d, lanes, n_lanes);
    scene.workers = m.workers;
    scene.n_workers = m.n;
    bool any = hedges_look(&d->hedges, &scene, now_us);
    model_fini(&m);
    d->open.is_clean &= !any;
    return any;
}

deal_change deal_look(deal *d, const hedge_lane *lanes, size_t n_lanes, uint32_t view, int64_t now_us)
{
    if (!d->is_dealt || !n_lanes)
        return DEAL_SAME;
    if (look_for_late(d, lanes, n_lanes, view, now_us))
        return DEAL_HEDGED;
    if (!d->rebalances)
        return DEAL_SAME;
    if (deal_end_trial(d, view, now_us))
        return DEAL_TRIED;
    return now_us < d->next_us || d->trials.is_on ? DEAL_SAME
                                                  : look_at_pace(d, lanes, n_lanes, view, now_us);
}
