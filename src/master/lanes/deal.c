#include "master/lanes/deal.h"

#include "common/base/alloc.h"
#include "master/lanes/model.h"
#include "master/lanes/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double gain = 1.1;    /* by which a deal must be quicker to be worth a change */
static const double loss = 1.05;   /* by which steps are slower when a deal is taken back... */
static const double failure = 1.3; /* ...soon */
/* Steps after which it is judged, and by which it may be seen to be quite wrong; steps for which a worker
 * is tried, and in how many in a row it has to be first; trials take one part in so many of the time; steps whose
 * length has to be known. */
enum { JUDGED = 15, JUDGED_SOON = 5, TRIED_STEPS = 6, TRIED_FIRST = 3, TRIED_PART = 10, TRIED_AFTER = 5 };

#define DOUBT_US INT64_C(30000000) /* after a deal that was taken back; and at most: */
#define DOUBT_MOST_US INT64_C(600000000)

/* The deal before the last one, for as long as it may come back. */
typedef struct last_deal {
    bool is_judged;     /* the one that followed it has still to show that it is quicker */
    view_lane *owners;  /* [n_slots] */
    double step_s;
    int64_t doubt_us;   /* how long no other is tried once it has come back */
} last_deal;

struct deal {
    uint32_t n_slots;
    bool rebalances, is_dealt;
    view_lane *owners;  /* [n_slots] */
    uint32_t *since;    /* [n_slots] the first view that said so */
    open_step open;
    hedges hedges;
    pace *pace;
    trials trials;
    last_deal last;
    int64_t next_us;    /* when to look at the pace again */
};

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

static bool has_slots(const deal *d, const view_lane *worker)
{
    for (uint32_t k = 0; k < d->n_slots; k++)
        if (view_same_worker(&d->owners[k], worker))
            return true;
    return false;
}

static void give(deal *d, uint32_t slot, const view_lane *owner, uint32_t view)
{
    if (d->is_dealt && view_same_lane(&d->owners[slot], owner))
        return;
    d->owners[slot] = *owner;
    d->since[slot] = view;
}

static void take_owners(deal *d, const model *m, const view_lane *owners, uint32_t view, int64_t now_us)
{
    for (uint32_t k = 0; k < d->n_slots; k++)
        give(d, k, &owners[k], view);
    hedges_clear(&d->hedges);
    d->is_dealt = true;
    d->open.is_clean = false;
    d->open.times_s.n = 0;
    d->trials.is_on = false;
    d->last.is_judged = false;
    for (size_t i = 0; i < m->n; i++)
        trials_note(&d->trials, &m->workers[i].name, has_slots(d, &m->workers[i].name), now_us);
}

static model make_model(const deal *d, const hedge_lane *lanes, size_t n_lanes, int64_t now_us)
{
    model m = model_make(d->rebalances ? d->pace : NULL, lanes, n_lanes, now_us);
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
    model m = make_model(d, lanes, n_lanes, now_us);
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

/* --- what is measured --- */

void deal_report(deal *d, const view_lane *lane, double seconds, int64_t now_us)
{
    pace_report(d->pace, lane, seconds, now_us);
}

/* The lanes of a worker that own slots are among the first so many. */
static uint32_t lanes_with_slots(const deal *d, const view_lane *worker)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < d->n_slots; k++)
        if (view_same_worker(&d->owners[k], worker) && d->owners[k].lane >= n)
            n = d->owners[k].lane + 1;
    return n;
}

static double open_seconds(const deal *d, int64_t now_us)
{
    return (double)(now_us - d->open.since_us) * 1e-6;
}

/* A worker's turn is over: what of it neither computing nor pushing explains. */
static void measure_turn(deal *d, const view_lane *worker, double turn_s, int64_t now_us)
{
    if (hedges_any_by(&d->hedges, worker))
        return; /* its turn was longer than its slots explain */
    uint32_t n = lanes_with_slots(d, worker);
    double *slot_s = xcalloc(n + 1, sizeof *slot_s), fixed_s;
    share_worker w = {.name = *worker, .n_lanes = n, .slot_s = slot_s};
    view_lane *names = xcalloc(n + 1, sizeof *names);
    for (uint32_t l = 0; l < n; l++) {
        names[l] = *worker;
        names[l].lane = l;
    }
    pace_of_worker(d->pace, worker, &fixed_s, &w.push_s);
    if (n && pace_of(d->pace, names, n, now_us, slot_s))
        pace_turn(d->pace, worker, turn_s - shares_turn(&w, d->owners, d->n_slots));
    free(names);
    free(slot_s);
}

static void measure_push(deal *d, const deal_delivery *what)
{
    uint32_t nodes = shares_nodes(d->owners, d->n_slots, &what->worker);
    if (nodes)
        pace_push(d->pace, &what->worker, what->push_s / nodes);
}

/* Whose slots others brought, in the step that is over. */
static void note_late(deal *d, int64_t now_us)
{
    trials *t = &d->trials;
    for (uint32_t k = 0; k < d->open.n_slots; k++) {
        bool is_tried = t->is_on && k == t->slot;
        if (hedges_of(&d->hedges, k) && !is_tried)
            trials_late(t, &d->owners[k], d->open.step, now_us);
    }
    if (t->is_on && t->first_step != d->open.step)
        t->n_first = 0;
}

/* The worker brought what it owns, or hedges, of the open step. *ret_own: some of it is its own, and was
 * not there; *ret_was_first: nobody had brought anything of that. */
static void bring(deal *d, const deal_delivery *what, bool *ret_own, bool *ret_was_first)
{
    *ret_own = false;
    *ret_was_first = true;
    for (uint32_t k = 0; k < d->open.n_slots; k++) {
        const hedge *h = &d->hedges.at[k];
        bool owns = view_same_worker(&d->owners[k], &what->worker) && what->view >= d->since[k];
        bool brings = h->is_set && view_same_worker(&h->lane, &what->worker) && what->view >= h->view;
        if (owns && d->open.is_in[k])
            *ret_was_first = false;
        if (d->open.is_in[k] || (!owns && !brings))
            continue;
        *ret_own |= owns;
        open_step_take(&d->open, k, what->turn_s);
    }
}

static bool in_time(deal *d, const view_lane *worker, double open_s, int64_t now_us)
{
    trials_in_time(&d->trials, worker);
    bool is_tried = d->trials.is_on && view_same_worker(&d->trials.worker, worker);
    if (is_tried && (open_s > d->trials.limit_s || trials_first(&d->trials, d->open.step) < TRIED_FIRST))
        return false;
    if (!hedges_in_time(&d->hedges, d->owners, worker))
        return false;
    if (is_tried) {
        trials_pass(&d->trials, now_us);
        pace_forget_worker(d->pace, worker);
    }
    return true;
}

/* The open step is over. Who has not said so has brought its slots by now, unless others have. */
static void end_step(deal *d, int64_t now_us)
{
    const open_step *o = &d->open;
    for (uint32_t k = 0; d->rebalances && open_step_measures(o) && k < o->n_slots; k++) {
        bool is_first = k == 0 || !view_same_worker(&d->owners[k], &d->owners[k - 1]);
        if (!o->is_in[k] && is_first && !hedges_of(&d->hedges, k))
            measure_turn(d, &d->owners[k], open_seconds(d, now_us), now_us);
    }
    note_late(d, now_us);
    open_step_next(&d->open, now_us);
    hedges_step(&d->hedges, now_us);
}

/* A worker that is at a step had all that the steps before made. */
static void catch_up(deal *d, int64_t step, int64_t now_us)
{
    if (step == d->open.step + 1) {
        end_step(d, now_us);
    } else if (step > d->open.step) {
        open_step_begin(&d->open, step, false, now_us);
        hedges_step(&d->hedges, now_us);
    }
}

bool deal_delivered(deal *d, const deal_delivery *what, int64_t now_us)
{
    if (!d->is_dealt)
        return false;
    catch_up(d, what->step, now_us);
    if (d->rebalances && what->step + 1 >= d->open.step)
        measure_push(d, what);
    if (what->step < d->open.step)
        return false;
    bool own, was_first;
    bring(d, what, &own, &was_first);
    double open_s = open_seconds(d, now_us);
    if (d->rebalances && own && was_first && open_step_measures(&d->open))
        measure_turn(d, &what->worker, fmax(open_s, what->turn_s), now_us);
    bool changed = own && was_first && in_time(d, &what->worker, open_s, now_us);
    if (d->open.n_in == d->open.n_slots)
        end_step(d, now_us);
    return changed;
}

void deal_pause(deal *d, int64_t now_us)
{
    open_step_pause(&d->open, now_us);
    hedges_step(&d->hedges, now_us);
}

/* --- changes --- */

/* Whoever has slots has been measured with them, or nobody can say what others would gain. */
static bool all_measured(const deal *d, const model *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (has_slots(d, &m->workers[i].name) && !pace_knows_worker(d->pace, &m->workers[i].name))
            return false;
    return true;
}

static bool rebalance(deal *d, const model *m, uint32_t view, int64_t now_us)
{
    if (!all_measured(d, m))
        return false;
    view_lane *owners = xcalloc(d->n_slots, sizeof *owners);
    shares_deal(m->workers, m->n, d->n_slots, owners);
    bool pays = shares_step(m->workers, m->n, d->owners, d->n_slots) >
                gain * shares_step(m->workers, m->n, owners, d->n_slots);
    if (pays) {
        double step_s = recent_median(&d->open.times_s);
        memcpy(d->last.owners, d->owners, d->n_slots * sizeof *owners);
        take_owners(d, m, owners, view, now_us);
        d->last.step_s = step_s;
        d->last.is_judged = step_s > 0;
    }
    free(owners);
    return pays;
}

/* Steps take longer than with the deal before: that one comes back, and the model is not trusted for a
 * while, longer each time. */
static bool take_back(deal *d, const model *m, uint32_t view, int64_t now_us)
{
    const recent *times_s = &d->open.times_s;
    if (!d->last.is_judged || times_s->n < JUDGED_SOON)
        return false;
    bool fails = recent_median(times_s) > failure * d->last.step_s;
    if (!fails && times_s->n < JUDGED)
        return false;
    d->last.is_judged = false;
    if (!fails && recent_median(times_s) <= loss * d->last.step_s) {
        d->last.doubt_us = DOUBT_US;
        return false;
    }
    take_owners(d, m, d->last.owners, view, now_us);
    d->next_us = now_us + d->last.doubt_us;
    d->last.doubt_us = d->last.doubt_us < DOUBT_MOST_US / 2 ? 2 * d->last.doubt_us : DOUBT_MOST_US;
    return true;
}

/* The last slot of the worker that has most; a worker with one only keeps it. False: there is none. */
static bool slot_to_spare(const deal *d, const model *m, uint32_t *ret)
{
    uint32_t most = 1;
    bool any = false;
    for (size_t i = 0; i < m->n; i++) {
        uint32_t n = 0, last = 0;
        for (uint32_t k = 0; k < d->n_slots; k++)
            if (view_same_worker(&d->owners[k], &m->workers[i].name)) {
                n++;
                last = k;
            }
        if (n <= most)
            continue;
        most = n;
        *ret = last;
        any = true;
    }
    return any;
}

static int64_t trial_us(const deal *d)
{
    int64_t steps_us = (int64_t)(TRIED_STEPS * 1e6 * recent_median(&d->open.times_s));
    return steps_us > DEAL_TRY_US ? steps_us : DEAL_TRY_US;
}

/* The quickest as far as is known; the next one each time, for others may be quicker by now. */
static view_lane lane_to_try(const deal *d, const share_worker *w)
{
    view_lane lane = w->name;
    lane.lane = 0;
    for (uint32_t l = 1; l < w->n_lanes; l++)
        if (w->slot_s[l] < w->slot_s[lane.lane])
            lane.lane = l;
    lane.lane = (lane.lane + trials_count(&d->trials, &w->name)) % w->n_lanes;
    return lane;
}

static bool begin_trial(deal *d, const model *m, uint32_t view, int64_t now_us)
{
    uint32_t slot;
    for (size_t i = 0; d->open.times_s.n >= TRIED_AFTER && i < m->n; i++) {
        view_lane tried = lane_to_try(d, &m->workers[i]), *worker = &tried;
        if (!trials_is_due(&d->trials, worker, TRIED_PART * trial_us(d), now_us) ||
            !slot_to_spare(d, m, &slot))
            continue;
        view_lane former = d->owners[slot];
        trials_begin(&d->trials, worker, slot, &former, recent_median(&d->open.times_s),
                     now_us + trial_us(d));
        give(d, slot, worker, view);
        d->hedges.at[slot] = (hedge){true, former, view, now_us};
        d->open.is_clean = false;
        return true;
    }
    return false;
}

static bool end_trial(deal *d, uint32_t view, int64_t now_us)
{
    trials *t = &d->trials;
    if (!t->is_on || now_us < t->until_us)
        return false;
    give(d, t->slot, &t->former, view);
    d->hedges.at[t->slot].is_set = false;
    d->open.is_clean = false;
    trials_fail(t, now_us);
    return true;
}

/* With the lanes' and links' pace. */
static deal_change look_at_pace(deal *d, const hedge_lane *lanes, size_t n_lanes, uint32_t view,
                                int64_t now_us)
{
    deal_change change = DEAL_SAME;
    bool barred = trials_bar(&d->trials, now_us);
    model m = make_model(d, lanes, n_lanes, now_us);
    for (size_t i = 0; m.n <= d->n_slots && i < m.n; i++)
        m.workers[i].barred |= trials_is_idle(&d->trials, &m.workers[i].name); /* until it passes */
    d->next_us = now_us + DEAL_LOOK_US;
    if (barred)
        deal_by(d, &m, view, now_us);
    if (barred || (!d->last.is_judged && rebalance(d, &m, view, now_us))) {
        change = DEAL_REBALANCED;
        d->next_us = now_us + DEAL_EVERY_US;
    } else if (take_back(d, &m, view, now_us)) {
        change = DEAL_REBALANCED;
    } else if (m.n <= d->n_slots && begin_trial(d, &m, view, now_us)) {
        change = DEAL_TRIED;
    }
    model_fini(&m);
    return change;
}

deal_change deal_look(deal *d, const hedge_lane *lanes, size_t n_lanes, uint32_t view, int64_t now_us)
{
    if (!d->is_dealt || !n_lanes)
        return DEAL_SAME;
    hedge_scene scene = {d->owners, &d->open, lanes, n_lanes, view};
    if (hedges_look(&d->hedges, &scene, now_us)) {
        d->open.is_clean = false;
        return DEAL_HEDGED;
    }
    if (!d->rebalances)
        return DEAL_SAME;
    if (end_trial(d, view, now_us))
        return DEAL_TRIED;
    return now_us < d->next_us || d->trials.is_on ? DEAL_SAME
                                                  : look_at_pace(d, lanes, n_lanes, view, now_us);
}
