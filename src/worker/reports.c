#include "worker/reports.h"

#include "common/base/alloc.h"

#include <stdlib.h>

/* Said again with every second word of the master at first, later less often. */
enum { ROOM = 1024, TIMES_SOON = 4, WAIT_SOON = 2, WAIT_LATER = 8 };

typedef struct kept {
    int64_t step, examples;
    uint32_t slot;
    int32_t lane;
    double seconds;
    metric_set metrics;
    int times, waited; /* it was said; words of the master since then */
} kept;

struct reports {
    kept *at; /* as they were measured */
    size_t n, cap;
};

reports *reports_create(void)
{
    reports *r = xcalloc(1, sizeof *r);
    GROW(r->at, r->cap, ROOM);
    return r;
}

void reports_destroy(reports **r)
{
    if (!r || !*r)
        return;
    free((*r)->at);
    free(*r);
    *r = NULL;
}

static status say_one(kept *k, reports_say_fn *say, void *user, error *err)
{
    Wire__Report__Metric metrics[METRIC_COUNT_MAX];
    Wire__Report__Metric *pointers[METRIC_COUNT_MAX];
    Wire__Report m = WIRE__REPORT__INIT;
    m.examples = k->examples;
    m.seconds = k->seconds;
    m.lane = (uint32_t)k->lane;
    m.n_metrics = k->metrics.n;
    m.metrics = pointers;
    for (size_t i = 0; i < k->metrics.n; i++) {
        wire__report__metric__init(&metrics[i]);
        metrics[i].name = (char *)(uintptr_t)k->metrics.at[i].name;
        metrics[i].sum = k->metrics.at[i].sum;
        metrics[i].count = k->metrics.at[i].count;
        pointers[i] = &metrics[i];
    }
    k->waited = 0;
    k->times++;
    return say(user, k->step, k->slot, &m.base, err);
}

static kept kept_of(const note *measured)
{
    return (kept){
        .step = measured->step,
        .examples = measured->examples,
        .slot = measured->slot,
        .lane = measured->lane,
        .seconds = measured->seconds,
        .metrics = measured->metrics,
    };
}

status reports_say(const note *measured, reports_say_fn *say, void *user, error *err)
{
    kept k = kept_of(measured);
    return say_one(&k, say, user, err);
}

status reports_add(reports *r, const note *measured, reports_say_fn *say, void *user, error *err)
{
    GROW(r->at, r->cap, r->n + 1);
    kept *k = &r->at[r->n++];
    *k = kept_of(measured);
    return say ? say_one(k, say, user, err) : OK;
}

status reports_say_all(reports *r, reports_say_fn *say, void *user, error *err)
{
    for (size_t i = 0; i < r->n; i++)
        TRY(say_one(&r->at[i], say, user, err));
    return OK;
}

static void keep_between(reports *r, int64_t from, int64_t to)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].step >= from && r->at[i].step < to)
            r->at[n++] = r->at[i];
    r->n = n;
}

/* A step of which the master has all our slots may wait for another's: it need not be ours that is
 * missing, so the next time we wait longer. */
status reports_booked(reports *r, int64_t step, reports_say_fn *say, void *user, error *err)
{
    keep_between(r, step, INT64_MAX);
    for (size_t i = 0; i < r->n; i++) {
        kept *k = &r->at[i];
        if (++k->waited < (k->times <= TIMES_SOON ? WAIT_SOON : WAIT_LATER))
            continue;
        TRY(say_one(k, say, user, err));
    }
    return OK;
}

void reports_begin(reports *r, int64_t step)
{
    keep_between(r, 0, step);
}

size_t reports_count(const reports *r)
{
    return r->n;
}
