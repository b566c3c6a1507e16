#include "master/accounting/metric_sums.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_OPEN = 4,
    MOST_OPEN = 4096,     /* steps ... */
    MOST_SLOTS = 1 << 18, /* ... and reports in them */
};

typedef struct open_slot {
    int64_t examples;
    metric_set metrics;
    span *counts;
} open_slot;

typedef struct open_step {
    uint32_t reported;
    bool *is_in; /* [per_step], like the next */
    open_slot *slots;
} open_step;

struct metric_sums {
    steps steps;
    completed_steps sums;
    training_metrics *training; /* of the epoch under way, or of one that is asked for; NULL: nobody counts */
    buf counts;                 /* of the epoch under way, while `training` has another, or for a base */
    buf epochs_counts[METRIC_SUMS_EPOCHS];
    int64_t highest;
    open_step *open; /* ring: [step % n_open] */
    int64_t n_open;
};

static open_step *at_step(const metric_sums *t, int64_t step)
{
    return &t->open[step % t->n_open];
}

static open_step new_step(const metric_sums *t)
{
    size_t n = (size_t)t->steps.per_step;
    return (open_step){.is_in = xcalloc(n, sizeof(bool)), .slots = xcalloc(n, sizeof(open_slot))};
}

completed_steps completed_steps_at(const steps *s, int64_t step)
{
    int64_t per_epoch = steps_per_epoch(s), epochs = step / per_epoch, epoch_examples = 0, rest = 0;
    for (int64_t t = 0; t < per_epoch; t++) {
        epoch_examples += steps_examples(s, t);
        if (t < step % per_epoch)
            rest += steps_examples(s, epochs * per_epoch + t);
    }
    return (completed_steps){.step = step, .examples = epochs * epoch_examples + rest};
}

/* Views are of our own memory from now on. */
static void take_counts(metric_sums *t, const completed_steps *from)
{
    if (t->training)
        (void)training_metrics_add(t->training, from->counts.at, from->counts.bytes); /* else it is not complete */
    for (size_t i = 0; i < METRIC_SUMS_EPOCHS; i++) {
        buf_add(&t->epochs_counts[i], from->epochs_counts[i].at, from->epochs_counts[i].bytes);
        t->sums.epochs_counts[i] = (epoch_counts){t->epochs_counts[i].data, t->epochs_counts[i].size};
    }
    t->sums.counts = (epoch_counts){.bytes = 0};
}

metric_sums *metric_sums_create(const steps *s, const completed_steps *from, training_metrics *training)
{
    metric_sums *t = xcalloc(1, sizeof *t);
    t->steps = *s;
    t->sums = *from;
    t->training = training;
    take_counts(t, from);
    t->highest = -1;
    t->n_open = FIRST_OPEN;
    t->open = xcalloc(FIRST_OPEN, sizeof *t->open);
    for (int64_t i = 0; i < FIRST_OPEN; i++)
        t->open[i] = new_step(t);
    return t;
}

void metric_sums_destroy(metric_sums **t)
{
    if (!t || !*t)
        return;
    training_metrics_close(&(*t)->training);
    buf_fini(&(*t)->counts);
    for (size_t i = 0; i < METRIC_SUMS_EPOCHS; i++)
        buf_fini(&(*t)->epochs_counts[i]);
    for (int64_t i = 0; i < (*t)->n_open; i++) {
        for (int64_t k = 0; k < (*t)->steps.per_step; k++)
            span_drop((*t)->open[i].slots[k].counts);
        free((*t)->open[i].is_in);
        free((*t)->open[i].slots);
    }
    free((*t)->open);
    free(*t);
    *t = NULL;
}

static int64_t most_open(const metric_sums *t)
{
    int64_t n = MOST_SLOTS / t->steps.per_step;
    return n < FIRST_OPEN ? FIRST_OPEN : n > MOST_OPEN ? MOST_OPEN : n;
}

static bool is_too_far(const metric_sums *t, int64_t step)
{
    return step - t->sums.step >= most_open(t);
}

/* Room for `step` too; more than the first few steps are open only when somebody's reports are late
 * for long. */
static void metric_sums_reserve(metric_sums *t, int64_t step)
{
    int64_t n = t->n_open;
    while (step - t->sums.step >= n)
        n *= 2;
    if (n == t->n_open)
        return;
    metric_sums wider = *t;
    wider.n_open = n;
    wider.open = xcalloc((size_t)n, sizeof *wider.open);
    for (int64_t s = t->sums.step; s < t->sums.step + n; s++)
        *at_step(&wider, s) = s < t->sums.step + t->n_open ? *at_step(t, s) : new_step(t);
    free(t->open);
    *t = wider;
}

bool metric_sums_take(metric_sums *t, const slot_report *r)
{
    if (r->step < t->sums.step || is_too_far(t, r->step) ||
        r->slot >= steps_slots(&t->steps, r->step))
        return false;
    metric_sums_reserve(t, r->step);
    open_step *s = at_step(t, r->step);
    if (s->is_in[r->slot])
        return false;
    s->is_in[r->slot] = true;
    s->slots[r->slot] = (open_slot){.examples = r->examples, .metrics = r->metrics};
    if (t->training && r->counts)
        s->slots[r->slot].counts = span_copy(r->counts->data, r->counts->bytes);
    s->reported++;
    if (r->step > t->highest)
        t->highest = r->step;
    return true;
}

/* What a slot counted, which is forgotten with it. */
static void add_counts(metric_sums *t, open_slot *slot)
{
    if (slot->counts)
        (void)training_metrics_add(t->training, slot->counts->data, slot->counts->bytes); /* else: a slot less */
    span_drop(slot->counts);
    slot->counts = NULL;
}

static void end_epoch(metric_sums *t)
{
    completed_steps *sums = &t->sums;
    int64_t at = steps_epoch_of(&t->steps, sums->step - 1) % METRIC_SUMS_EPOCHS;
    sums->epochs[at] = sums->epoch;
    metric_reset(&sums->epoch);
    buf_clear(&t->epochs_counts[at]);
    if (t->training) {
        training_metrics_save(t->training, &t->epochs_counts[at]);
        training_metrics_reset(t->training);
    }
    sums->epochs_counts[at] = (epoch_counts){t->epochs_counts[at].data, t->epochs_counts[at].size};
}

bool metric_sums_advance(metric_sums *t, bool anyway)
{
    completed_steps *sums = &t->sums;
    open_step *s = at_step(t, sums->step);
    uint32_t n = steps_slots(&t->steps, sums->step);
    if (s->reported < n && !anyway)
        return false;
    metric_reset(&sums->last_step);
    for (uint32_t i = 0; i < n; i++)
        if (s->is_in[i]) {
            metric_merge(&sums->last_step, &s->slots[i].metrics);
            add_counts(t, &s->slots[i]);
        }
    metric_merge_lasting(&sums->epoch, &sums->last_step);
    sums->last_lost = n - s->reported;
    sums->lost += sums->last_lost;
    sums->examples += steps_examples(&t->steps, sums->step);
    memset(s->is_in, 0, (size_t)t->steps.per_step * sizeof *s->is_in);
    s->reported = 0;
    sums->step++;
    if (sums->step % steps_per_epoch(&t->steps) == 0)
        end_epoch(t);
    return true;
}

const completed_steps *metric_sums_completed(const metric_sums *t)
{
    return &t->sums;
}

const completed_steps *metric_sums_base(metric_sums *t)
{
    buf_clear(&t->counts);
    if (t->training)
        training_metrics_save(t->training, &t->counts);
    t->sums.counts = (epoch_counts){t->counts.data, t->counts.size};
    return &t->sums;
}

static int64_t slots_of_epoch(const steps *s, int64_t epoch)
{
    int64_t per_epoch = steps_per_epoch(s), n = 0;
    for (int64_t step = epoch * per_epoch; step < (epoch + 1) * per_epoch; step++)
        n += steps_slots(s, step);
    return n;
}

bool metric_sums_figures(metric_sums *t, int64_t epoch, metric_figures *ret)
{
    const epoch_counts *of = &t->sums.epochs_counts[epoch % METRIC_SUMS_EPOCHS];
    if (!t->training || epoch >= t->sums.step / steps_per_epoch(&t->steps))
        return false;
    epoch_counts now = metric_sums_base(t)->counts;
    training_metrics_reset(t->training);
    bool is_whole = training_metrics_add(t->training, of->at, of->bytes) &&
                    training_metrics_slots(t->training) == slots_of_epoch(&t->steps, epoch);
    if (is_whole)
        training_metrics_figures(t->training, ret);
    training_metrics_reset(t->training);
    bool is_back = training_metrics_add(t->training, now.at, now.bytes);
    BUG_ON(!is_back);
    return is_whole;
}

int64_t metric_sums_highest(const metric_sums *t)
{
    return t->highest;
}

bool metric_sums_has(const metric_sums *t, int64_t step, uint32_t slot)
{
    bool is_open = step >= t->sums.step && step < t->sums.step + t->n_open;
    return is_open && at_step(t, step)->is_in[slot];
}

bool metric_sums_next_open(const metric_sums *t, size_t *at, slot_report *ret)
{
    size_t per_step = (size_t)t->steps.per_step, n = (size_t)t->n_open * per_step;
    while (*at < n) {
        int64_t step = t->sums.step + (int64_t)(*at / per_step);
        size_t slot = *at % per_step;
        const open_step *s = at_step(t, step);
        ++*at;
        if (!s->is_in[slot])
            continue;
        *ret = (slot_report){.step = step,
                             .slot = (uint32_t)slot,
                             .examples = s->slots[slot].examples,
                             .metrics = s->slots[slot].metrics,
                             .counts = s->slots[slot].counts};
        return true;
    }
    return false;
}
