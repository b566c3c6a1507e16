#include "master/tally.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_OPEN = 4,
    MOST_OPEN = 4096,     /* steps ... */
    MOST_SLOTS = 1 << 18, /* ... and reports in them */
};

typedef struct open_slot {
    bool is_in;
    int64_t examples;
    metric_set metrics;
} open_slot;

struct tally {
    steps steps;
    tally_sums sums;
    int64_t highest;
    open_slot *slots;   /* [n_open][per_step]: of step s in row s % n_open */
    uint32_t *reported; /* [n_open] */
    int64_t n_open;
};

static open_slot *row_of(const tally *t, int64_t step)
{
    return t->slots + step % t->n_open * t->steps.per_step;
}

tally_sums tally_sums_at(const steps *s, int64_t step)
{
    int64_t per_epoch = steps_per_epoch(s), epochs = step / per_epoch, epoch_examples = 0, rest = 0;
    for (int64_t t = 0; t < per_epoch; t++) {
        epoch_examples += steps_examples(s, t);
        if (t < step % per_epoch)
            rest += steps_examples(s, t);
    }
    return (tally_sums){.step = step, .examples = epochs * epoch_examples + rest};
}

tally *tally_create(const steps *s, const tally_sums *from)
{
    tally *t = xcalloc(1, sizeof *t);
    t->steps = *s;
    t->sums = *from;
    t->highest = -1;
    t->n_open = FIRST_OPEN;
    t->slots = xcalloc((size_t)(t->n_open * s->per_step), sizeof *t->slots);
    t->reported = xcalloc((size_t)t->n_open, sizeof *t->reported);
    return t;
}

void tally_destroy(tally **t)
{
    if (!t || !*t)
        return;
    free((*t)->slots);
    free((*t)->reported);
    free(*t);
    *t = NULL;
}

static int64_t most_open(const tally *t)
{
    int64_t n = MOST_SLOTS / t->steps.per_step;
    return n < FIRST_OPEN ? FIRST_OPEN : n > MOST_OPEN ? MOST_OPEN : n;
}

bool tally_is_too_far(const tally *t, int64_t step)
{
    return step - t->sums.step >= most_open(t);
}

/* Room for `step` too; more than the first few steps are open only when somebody's reports are late
 * for long. */
static void reserve(tally *t, int64_t step)
{
    int64_t n = t->n_open;
    while (step - t->sums.step >= n)
        n *= 2;
    if (n == t->n_open)
        return;
    tally wider = *t;
    wider.n_open = n;
    wider.slots = xcalloc((size_t)(n * t->steps.per_step), sizeof *wider.slots);
    wider.reported = xcalloc((size_t)n, sizeof *wider.reported);
    for (int64_t s = t->sums.step; s < t->sums.step + t->n_open; s++) {
        memcpy(row_of(&wider, s), row_of(t, s), (size_t)t->steps.per_step * sizeof *t->slots);
        wider.reported[s % n] = t->reported[s % t->n_open];
    }
    free(t->slots);
    free(t->reported);
    *t = wider;
}

bool tally_take(tally *t, const slot_report *r)
{
    if (r->step < t->sums.step || tally_is_too_far(t, r->step) ||
        r->slot >= steps_slots(&t->steps, r->step))
        return false;
    reserve(t, r->step);
    open_slot *s = &row_of(t, r->step)[r->slot];
    if (s->is_in)
        return false;
    *s = (open_slot){.is_in = true, .examples = r->examples, .metrics = r->metrics};
    t->reported[r->step % t->n_open]++;
    if (r->step > t->highest)
        t->highest = r->step;
    return true;
}

bool tally_advance(tally *t, bool anyway)
{
    tally_sums *sums = &t->sums;
    uint32_t n = steps_slots(&t->steps, sums->step),
             *reported = &t->reported[sums->step % t->n_open];
    if (*reported < n && !anyway)
        return false;
    open_slot *row = row_of(t, sums->step);
    metric_reset(&sums->last_step);
    for (uint32_t i = 0; i < n; i++)
        if (row[i].is_in)
            metric_merge(&sums->last_step, &row[i].metrics);
    metric_merge(&sums->epoch, &sums->last_step);
    sums->examples += steps_examples(&t->steps, sums->step);
    memset(row, 0, (size_t)t->steps.per_step * sizeof *row);
    *reported = 0;
    sums->step++;
    if (sums->step % steps_per_epoch(&t->steps) == 0) {
        sums->epochs[steps_epoch_of(&t->steps, sums->step - 1) % TALLY_EPOCHS] = sums->epoch;
        metric_reset(&sums->epoch);
    }
    return true;
}

const tally_sums *tally_sums_of(const tally *t)
{
    return &t->sums;
}

int64_t tally_highest(const tally *t)
{
    return t->highest;
}

bool tally_has(const tally *t, int64_t step, uint32_t slot)
{
    return step >= t->sums.step && step < t->sums.step + t->n_open && row_of(t, step)[slot].is_in;
}

bool tally_next_open(const tally *t, size_t *at, slot_report *ret)
{
    size_t per_step = (size_t)t->steps.per_step, n = (size_t)t->n_open * per_step;
    for (; *at < n; ++*at) {
        int64_t step = t->sums.step + (int64_t)(*at / per_step);
        uint32_t slot = (uint32_t)(*at % per_step);
        const open_slot *s = &row_of(t, step)[slot];
        if (!s->is_in)
            continue;
        *ret = (slot_report){step, slot, s->examples, s->metrics};
        ++*at;
        return true;
    }
    return false;
}
