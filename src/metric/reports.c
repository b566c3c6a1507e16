#include "metric/reports.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Said again with every second word of the master at first, later less often. */
enum { ROOM = 1024, TIMES_SOON = 4, WAIT_SOON = 2, WAIT_LATER = 8 };

typedef struct kept {
    slot_report what;
    int times, waited; /* it was said; words of the master since then */
} kept;

struct reports {
    kept *at; /* by step and slot */
    size_t n, cap;
};

slot_report slot_report_copy(const slot_report *r)
{
    slot_report copy = *r;
    if (copy.counts)
        span_hold(copy.counts);
    return copy;
}

void slot_report_fini(slot_report *r)
{
    span_drop(r->counts);
    r->counts = NULL;
}

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
    reports_clear(*r);
    free((*r)->at);
    free(*r);
    *r = NULL;
}

slot_report reports_read(const Wire__Report *m, int64_t step, uint32_t slot)
{
    slot_report r = {.step = step,
                .slot = slot,
                .lane = (int32_t)m->lane,
                .examples = m->examples,
                .seconds = m->seconds};
    for (size_t i = 0; i < m->n_metrics && i < METRIC_COUNT_MAX; i++) {
        const char *name = metric_known(m->metrics[i]->name);
        if (name)
            metric_add(&r.metrics, name, m->metrics[i]->sum, m->metrics[i]->count);
    }
    if (m->counts.len)
        r.counts = span_copy(m->counts.data, m->counts.len);
    return r;
}

status reports_say(const slot_report *measured, reports_say_fn *say, void *user, error *err)
{
    Wire__Report__Metric metrics[METRIC_COUNT_MAX];
    Wire__Report__Metric *pointers[METRIC_COUNT_MAX];
    Wire__Report m = WIRE__REPORT__INIT;
    m.examples = measured->examples;
    m.seconds = measured->seconds;
    m.lane = (uint32_t)measured->lane;
    m.counts = (ProtobufCBinaryData){.len = span_bytes(measured->counts),
                                     .data = (uint8_t *)(uintptr_t)span_data(measured->counts)};
    m.n_metrics = measured->metrics.n;
    m.metrics = pointers;
    for (size_t i = 0; i < measured->metrics.n; i++) {
        wire__report__metric__init(&metrics[i]);
        metrics[i].name = (char *)(uintptr_t)measured->metrics.at[i].name;
        metrics[i].sum = measured->metrics.at[i].sum;
        metrics[i].count = measured->metrics.at[i].count;
        pointers[i] = &metrics[i];
    }
    return say(user, measured->step, measured->slot, &m.base, err);
}

static status say_kept(kept *k, reports_say_fn *say, void *user, error *err)
{
    k->waited = 0;
    k->times++;
    return reports_say(&k->what, say, user, err);
}

static bool is_before(const slot_report *a, int64_t step, uint32_t slot)
{
    return a->step != step ? a->step < step : a->slot < slot;
}

/* The first that is not before that slot. */
static size_t find(const reports *r, int64_t step, uint32_t slot)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (is_before(&r->at[mid].what, step, slot))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_of(const reports *r, size_t at, int64_t step, uint32_t slot)
{
    return at < r->n && r->at[at].what.step == step && r->at[at].what.slot == slot;
}

static kept *put(reports *r, const slot_report *measured)
{
    size_t at = find(r, measured->step, measured->slot);
    if (!is_of(r, at, measured->step, measured->slot)) {
        GROW(r->at, r->cap, r->n + 1);
        memmove(r->at + at + 1, r->at + at, (r->n++ - at) * sizeof *r->at);
        r->at[at].what.counts = NULL;
    }
    slot_report before = r->at[at].what; /* may be `measured` */
    r->at[at] = (kept){.what = slot_report_copy(measured)};
    slot_report_fini(&before);
    return &r->at[at];
}

status reports_add(reports *r, const slot_report *measured, reports_say_fn *say, void *user,
                   error *err)
{
    kept *k = put(r, measured);
    return say ? say_kept(k, say, user, err) : OK;
}

static void drop(reports *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        slot_report_fini(&r->at[i].what);
    memmove(r->at + from, r->at + to, (r->n - to) * sizeof *r->at);
    r->n -= to - from;
}

void reports_move(reports *from, int64_t step, reports *to, int64_t as)
{
    size_t first = find(from, step, 0), end = find(from, step + 1, 0);
    for (size_t i = first; i < end; i++) {
        slot_report r = from->at[i].what;
        r.step = as;
        put(to, &r);
    }
    drop(from, first, end);
}

status reports_say_all(reports *r, reports_say_fn *say, void *user, error *err)
{
    for (size_t i = 0; i < r->n; i++)
        TRY(say_kept(&r->at[i], say, user, err));
    return OK;
}

bool reports_have(const reports *r, int64_t step, uint32_t first, uint32_t end)
{
    size_t at = find(r, step, first);
    for (uint32_t slot = first; slot < end; slot++)
        if (!is_of(r, at++, step, slot))
            return false;
    return true;
}

status reports_say_of(const reports *r, int64_t step, uint32_t first, uint32_t end,
                      reports_say_fn *say, void *user, error *err)
{
    for (size_t i = find(r, step, first), to = find(r, step, end); i < to; i++)
        TRY(reports_say(&r->at[i].what, say, user, err));
    return OK;
}

/* A step of which the master has all our slots may wait for another's: it need not be ours that is
 * missing, so the next time we wait longer. */
status reports_recorded(reports *r, int64_t step, int64_t until, reports_say_fn *say, void *user,
                        error *err)
{
    drop(r, 0, find(r, until, 0));
    for (size_t i = find(r, step, 0); i < r->n; i++) {
        kept *k = &r->at[i];
        if (++k->waited < (k->times <= TIMES_SOON ? WAIT_SOON : WAIT_LATER))
            continue;
        TRY(say_kept(k, say, user, err));
    }
    return OK;
}

void reports_begin(reports *r, int64_t step)
{
    drop(r, find(r, step, 0), r->n);
}

void reports_renew(reports *r)
{
    for (size_t i = 0; i < r->n; i++) {
        r->at[i].times = 0;
        r->at[i].waited = WAIT_SOON;
    }
}

void reports_clear(reports *r)
{
    drop(r, 0, r->n);
}
