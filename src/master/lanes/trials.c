#include "master/lanes/trials.h"

#include "common/base/alloc.h"

#include <stdlib.h>

void trials_fini(trials *t)
{
    free(t->at);
    *t = (trials){.n = 0};
}

static standing *trials_find(const trials *t, const view_lane *worker)
{
    for (size_t i = 0; i < t->n; i++)
        if (view_same_worker(&t->at[i].worker, worker))
            return &t->at[i];
    return NULL;
}

static standing unknown(const view_lane *worker)
{
    return (standing){.worker = *worker,
                      .late_step = -1,
                      .lanes.pause_us = TRIALS_FIRST_US,
                      .whole.pause_us = TRIALS_FIRST_US};
}

static standing *find_or_add(trials *t, const view_lane *worker)
{
    standing *s = trials_find(t, worker);
    if (s)
        return s;
    GROW(t->at, t->cap, t->n + 1);
    s = &t->at[t->n++];
    *s = unknown(worker);
    return s;
}

void trials_late(trials *t, const view_lane *worker, int64_t step, int64_t now_us)
{
    standing *s = find_or_add(t, worker);
    if (s->late_step == step)
        return;
    s->late_us = s->late ? s->late_us : now_us;
    s->late++;
    s->late_step = step;
}

void trials_in_time(trials *t, const view_lane *worker, int64_t step)
{
    standing *s = trials_find(t, worker);
    if (!s)
        return;
    s->late = 0;
    s->late_step = step;
    s->barred = false;
}

bool trials_bar(trials *t, int64_t now_us)
{
    bool any = false;
    for (size_t i = 0; i < t->n; i++) {
        standing *s = &t->at[i];
        if (s->barred || s->late < TRIALS_LATE || now_us - s->late_us < TRIALS_LATE_US)
            continue;
        s->barred = any = true;
        s->late = 0;
    }
    return any;
}

bool trials_is_barred(const trials *t, const view_lane *worker)
{
    const standing *s = trials_find(t, worker);
    return s && s->barred;
}

/* What was like others for a while begins anew with short pauses. */
static void trials_lengthen(rest *r, int64_t now_us)
{
    bool was_good = r->back_us && now_us - r->back_us > 4 * r->pause_us;
    r->pause_us = was_good ? TRIALS_FIRST_US : 2 * r->pause_us;
    r->back_us = 0;
    if (r->pause_us > TRIALS_LATEST_US)
        r->pause_us = TRIALS_LATEST_US;
}

static void note(rest *r, bool is_idle, int64_t now_us)
{
    if (is_idle && !r->since_us && r->back_us)
        trials_lengthen(r, now_us);
    r->since_us = is_idle ? r->since_us ? r->since_us : now_us : 0;
}

void trials_note(trials *t, const view_lane *worker, idleness what, int64_t now_us)
{
    standing *s = find_or_add(t, worker);
    note(&s->lanes, what == IDLE_LANES, now_us);
    note(&s->whole, what == IDLE_WORKER, now_us);
}

uint32_t trials_count(const trials *t, const view_lane *worker)
{
    const standing *s = trials_find(t, worker);
    return s ? s->n_tried : 0;
}

bool trials_is_due(const trials *t, const view_lane *worker, int64_t least_us, int64_t now_us)
{
    const standing *s = trials_find(t, worker);
    if (!s)
        return false;
    const rest *r = s->whole.since_us ? &s->whole : &s->lanes;
    int64_t idle_us = now_us - r->since_us;
    bool was_tried = r->pause_us > TRIALS_FIRST_US;
    return r->since_us && idle_us >= r->pause_us && (!was_tried || idle_us >= least_us);
}

void trials_begin(trials *t, const trial *what)
{
    find_or_add(t, &what->lane)->n_tried++;
    t->is_on = true;
    t->now = *what;
    t->n_good = 0;
    t->good_step = -1;
}

uint32_t trials_good(trials *t, int64_t step)
{
    t->n_good += t->good_step != step;
    t->good_step = step;
    return t->n_good;
}

void trials_report(trials *t, double seconds)
{
    bool is_quicker = seconds * TRIALS_QUICKER < t->now.known_s;
    t->n_good++;
    if (!is_quicker || t->n_good == TRIALS_REPORTS)
        t->now.until_us = 0;
}

/* What is known of the lane now is for the deal to judge. */
static rest *trials_end(trials *t, int64_t now_us)
{
    standing *s = find_or_add(t, &t->now.lane);
    rest *r = t->now.is_own ? &s->lanes : &s->whole;
    t->is_on = false;
    r->since_us = now_us;
    trials_lengthen(r, now_us);
    if (t->now.is_own)
        t->own_us = now_us + TRIALS_OWN_PART * (now_us - t->now.begin_us);
    return r;
}

void trials_pass(trials *t, int64_t now_us)
{
    standing *s = find_or_add(t, &t->now.lane);
    trials_end(t, now_us)->back_us = now_us;
    s->barred = false;
    s->late = 0;
}

void trials_fail(trials *t, int64_t now_us)
{
    (void)trials_end(t, now_us);
}

void trials_forget(trials *t, const view_lane *worker)
{
    standing *s = trials_find(t, worker);
    if (s)
        *s = unknown(worker);
}
