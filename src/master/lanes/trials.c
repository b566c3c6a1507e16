#include "master/lanes/trials.h"

#include "common/base/alloc.h"

#include <stdlib.h>

void trials_fini(trials *t)
{
    free(t->at);
    *t = (trials){.n = 0};
}

static standing *find(const trials *t, const view_lane *worker)
{
    for (size_t i = 0; i < t->n; i++)
        if (view_same_worker(&t->at[i].worker, worker))
            return &t->at[i];
    return NULL;
}

static standing *find_or_add(trials *t, const view_lane *worker)
{
    standing *s = find(t, worker);
    if (s)
        return s;
    GROW(t->at, t->cap, t->n + 1);
    s = &t->at[t->n++];
    *s = (standing){.worker = *worker, .late_step = -1, .pause_us = TRIALS_FIRST_US};
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
    standing *s = find(t, worker);
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
    const standing *s = find(t, worker);
    return s && s->barred;
}

/* Who was one like others for a while begins anew with short pauses. */
static void lengthen(standing *s, int64_t now_us)
{
    bool was_good = s->back_us && now_us - s->back_us > 4 * s->pause_us;
    s->pause_us = was_good ? TRIALS_FIRST_US : 2 * s->pause_us;
    s->back_us = 0;
    if (s->pause_us > TRIALS_LATEST_US)
        s->pause_us = TRIALS_LATEST_US;
}

void trials_note(trials *t, const view_lane *worker, bool all_have, int64_t now_us)
{
    standing *s = find_or_add(t, worker);
    if (!all_have && !s->idle_us && s->back_us)
        lengthen(s, now_us);
    s->idle_us = all_have ? 0 : s->idle_us ? s->idle_us : now_us;
}

uint32_t trials_count(const trials *t, const view_lane *worker)
{
    const standing *s = find(t, worker);
    return s ? s->n_tried : 0;
}

bool trials_is_due(const trials *t, const view_lane *worker, int64_t least_us, int64_t now_us)
{
    const standing *s = find(t, worker);
    bool was_tried = s && s->pause_us > TRIALS_FIRST_US;
    return s && s->idle_us && now_us - s->idle_us >= s->pause_us &&
           (!was_tried || now_us - s->idle_us >= least_us);
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
static void end(trials *t, int64_t now_us)
{
    standing *s = find_or_add(t, &t->now.lane);
    t->is_on = false;
    s->idle_us = now_us;
    lengthen(s, now_us);
    if (t->now.is_own)
        t->own_us = now_us + TRIALS_OWN_PART * (now_us - t->now.begin_us);
}

void trials_pass(trials *t, int64_t now_us)
{
    standing *s = find_or_add(t, &t->now.lane);
    end(t, now_us);
    s->barred = false;
    s->late = 0;
    s->back_us = now_us;
}

void trials_fail(trials *t, int64_t now_us)
{
    end(t, now_us);
}

void trials_forget(trials *t, const view_lane *worker)
{
    standing *s = find(t, worker);
    if (s)
        *s = (standing){.worker = *worker, .late_step = -1, .pause_us = TRIALS_FIRST_US};
}
