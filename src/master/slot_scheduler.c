/*
 * The scheduler of jobs whose steps are computed in order: the deal gives each slot of a step to a lane,
 * and follows what is measured of the lanes.
 */
#include "master/state.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "optim/settings.h"

#include <stdio.h>
#include <stdlib.h>

/* --- the version an era begins with --- */

/* All go on from the lowest version; a server that is one further answers with the one before. */
static bool agree_on_start(master *m)
{
    int64_t lowest = -1, newest = -1;
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        const server *s = &m->servers[i];
        if (!assign_acts(&m->assign, i) || s->lowest < 0)
            continue;
        lowest = lowest < 0 || s->lowest < lowest ? s->lowest : lowest;
        newest = s->newest > newest ? s->newest : newest;
    }
    if (lowest >= 0)
        m->era.start = lowest;
    return newest <= lowest + 1;
}

/* What was answered, or is in a checkpoint, is not there: a server that was replaced came back with
 * old parts, and nobody is left that knows better. What was answered before all went back does not count. */
static status is_behind(const master *m, int64_t saved, bool *ret, error *err)
{
    int64_t told = -1;
    TRY(accounting_told(m->o->dir, &told, err));
    /* a standby may wait for the verdict that makes the version answered last */
    bool votes = vote_settings(m->o->config);
    *ret = m->era.start < saved || (!m->era.taken_back && m->era.start + votes < told);
    return OK;
}

static status slot_find_start(master *m, const char **ret_why, error *err)
{
    int64_t saved = m->era.start;
    bool behind = false;
    if (!m->era.keeps)
        return OK;
    if (!agree_on_start(m))
        *ret_why = "hold versions that do not fit together";
    else
        TRY(is_behind(m, saved, &behind, err));
    if (behind)
        *ret_why = "hold versions older than what was answered";
    return OK;
}

/* --- lanes --- */

static void count_lane(master *m, const member *from, const Wire__Report *r)
{
    if (r->examples <= 0 || r->lane >= from->lanes)
        return;
    view_lane lane = {.trainer = from->trainer, .worker = from->index, .lane = r->lane};
    double seconds = r->seconds * (double)m->plan.steps.batch_size / (double)r->examples;
    deal_report(m->views.deal, &lane, seconds);
}

static void take_delivered(master *m, const member *from, const wire_head *h, const Wire__Delivered *d)
{
    deal_delivery what = {.worker = {.trainer = from->trainer, .worker = from->index},
                          .step = h->step,
                          .view = d->view,
                          .turn_s = d->seconds,
                          .push_s = d->push_seconds};
    if (!m->views.deal || m->phase != RUN || h->era != m->era.identity.era ||
        !deal_delivered(m->views.deal, &what, clock_us()))
        return;
    char name[TASK_NAME];
    LOG_I("IN_TIME", "task=%s step=%lld: its slots are hedged no longer", member_name(from, name),
          (long long)h->step);
    master_tell(m, TIMELINE_IN_TIME, name, "is in time at step %lld: its slots are hedged no longer",
                (long long)h->step);
    master_say_new_view(m);
}

/* Whose slots are not on the servers: an event for each of the first, and "worker.1 worker.3" for the log. */
static void say_hedges(const master *m)
{
    enum { NAMED = 8 };
    char late[256] = "";
    size_t used = 0, n = 0;
    long long step = deal_open_step(m->views.deal);
    for (size_t i = 0; i < m->members.n; i++) {
        const member *one = &m->members.at[i];
        char name[TASK_NAME];
        if (!deal_awaits(m->views.deal, &(view_lane){one->trainer, one->index, 0}))
            continue;
        member_name(one, name);
        if (n++ < NAMED)
            master_tell(m, TIMELINE_HEDGE, name, "is late at step %lld: other lanes compute its slots too", step);
        if (used + TASK_NAME + 1 < sizeof late)
            used += (size_t)snprintf(late + used, sizeof late - used, " %s", name);
    }
    if (n > NAMED)
        master_tell(m, TIMELINE_HEDGE, NULL, "%zu more workers are late at step %lld", n - NAMED, step);
    LOG_I("HEDGE", "step=%lld late:%s: other lanes compute their slots too", step, late);
}

/* "worker.0=5 worker.1=3": slots, as the lanes follow each other. */
static void say_deal(const master *m, const char *what, const hedge_lane *lanes, size_t n)
{
    char text[256];
    size_t used = 0;
    for (size_t i = 0; i < n && used + 2 * TASK_NAME < sizeof text; i++) {
        char name[TASK_NAME];
        task t = {lanes[i].lane.trainer ? ROLE_MASTER : ROLE_WORKER, (int32_t)lanes[i].lane.worker};
        uint32_t slots = 0;
        for (int64_t k = 0; k < m->plan.steps.per_step; k++)
            slots += view_same_lane(&deal_owners(m->views.deal)[k], &lanes[i].lane);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, " %s=%u", task_name(t, name), slots);
    }
    LOG_I(what, "slots:%s", text);
}

static void watch_lanes(master *m, int64_t now)
{
    if (now - m->views.looked_us < TICK_MS * 1000)
        return;
    m->views.looked_us = now;
    if (deal_open_step(m->views.deal) >= m->views.limit) {
        deal_pause(m->views.deal, now);
        return;
    }
    size_t n = 0;
    hedge_lane *lanes = members_lane_list(&m->members, &n);
    deal_change change = deal_look(m->views.deal, lanes, n, m->views.id + 1, now);
    if (change == DEAL_HEDGED)
        say_hedges(m);
    if (change == DEAL_REBALANCED || change == DEAL_TRIED)
        say_deal(m, change == DEAL_TRIED ? "TRIED" : "REBALANCE", lanes, n);
    if (change != DEAL_SAME)
        master_say_new_view(m);
    free(lanes);
}

/* --- reports --- */

static status take_report(master *m, const member *from, const wire_head *h, const Wire__Report *r,
                          error *err)
{
    if (from)
        count_lane(m, from, r);
    return master_record(m, h, r, err);
}

/* Steps before the one returned are in the weights, and nobody who lives is computing a slot of
 * them: what each had to report was said before its heartbeat, on the same connection. */
static int64_t slot_settled(const master *m)
{
    int64_t until = master_applied(m);
    if (saver_written(m->saver, NULL) > until)
        until = saver_written(m->saver, NULL);
    for (size_t i = 0; i < m->members.n; i++) {
        const member *one = &m->members.at[i];
        if (one->alive && one->computing_era != m->era.identity.era)
            return 0;
        if (one->alive && one->computing >= 0 && one->computing < until)
            until = one->computing;
    }
    return until;
}

/* Whatever is in the weights, a server that lives holds the report of. Should one be missing all the
 * same, a job that has its weights does not fail for it. */
static status settle_reports(master *m, error *err)
{
    int64_t now = clock_us(), step = accounting_totals_of(m->accounting)->step, until = slot_settled(m);
    if (step != m->reporting.open_step || until <= step) {
        m->reporting.open_step = step;
        m->reporting.open_us = now;
    }
    double open_s = (double)(now - m->reporting.open_us) / SECOND_US;
    if (until <= step || open_s < master_option(m, "distributed.lost_timeout"))
        return OK;
    int64_t done = accounting_settle(m->accounting, until);
    return done ? master_steps_done(m, step, err) : OK;
}

const scheduler slot_scheduler = {
    .find_start = slot_find_start,
    .watch = watch_lanes,
    .report = take_report,
    .delivered = take_delivered,
    .settle = settle_reports,
    .list_waits = master_list_step_waits,
};

const scheduler *scheduler_of(const schedule *s)
{
    return s->in_order ? &slot_scheduler : &lease_scheduler;
}
