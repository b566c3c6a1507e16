#include "common/parts/steps.h"

#include "common/parts/permute.h"

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* First batch, within its epoch, of a step. */
static int64_t first_batch(const steps *s, int64_t step)
{
    return step % steps_per_epoch(s) * s->per_step;
}

/* --- kinds --- */

static int64_t kind_batches(const steps_kind *k)
{
    return ceil_div(k->examples, k->batch_size);
}

/* Batch `index` of that epoch: its places. */
static void kind_batch(const steps *s, int64_t epoch, int64_t index, int64_t *ret_first, int64_t *ret_n)
{
    int64_t at = s->shuffle ? permute_place(s->seed, epoch, steps_batches_per_epoch(s), index) : index, first = 0;
    const steps_kind *k = s->kinds.at;
    for (; at >= kind_batches(k); k++) {
        at -= kind_batches(k);
        first += k->examples;
    }
    *ret_first = first + at * k->batch_size;
    *ret_n = smaller(k->batch_size, k->examples - at * k->batch_size);
}

size_t steps_kind_of(const steps *s, const step_slot *slot)
{
    size_t kind = 0;
    for (int64_t behind = 0; kind + 1 < s->kinds.n; kind++) {
        behind += s->kinds.at[kind].examples;
        if (slot->first < behind)
            break;
    }
    return kind;
}

/* --- all --- */

int64_t steps_batches_per_epoch(const steps *s)
{
    int64_t batches = 0;
    for (size_t i = 0; i < s->kinds.n; i++)
        batches += kind_batches(&s->kinds.at[i]);
    if (s->kinds.n)
        return batches;
    int64_t whole = s->examples / s->batch_size;
    if (s->drop_last && whole > 0)
        return whole;
    return ceil_div(s->examples, s->batch_size);
}

int64_t steps_per_epoch(const steps *s)
{
    return ceil_div(steps_batches_per_epoch(s), s->per_step);
}

int64_t steps_epoch_of(const steps *s, int64_t step)
{
    return step / steps_per_epoch(s);
}

uint32_t steps_slots(const steps *s, int64_t step)
{
    return (uint32_t)smaller(s->per_step, steps_batches_per_epoch(s) - first_batch(s, step));
}

static int64_t examples_of_kinds(const steps *s, int64_t step)
{
    int64_t examples = 0;
    for (uint32_t slot = 0; slot < steps_slots(s, step); slot++)
        examples += steps_slot(s, step, slot).n;
    return examples;
}

int64_t steps_examples(const steps *s, int64_t step)
{
    if (s->kinds.n)
        return examples_of_kinds(s, step);
    int64_t first = first_batch(s, step) * s->batch_size;
    int64_t room = s->examples - first;
    int64_t slots = steps_slots(s, step);
    /* only the last slot may be smaller, and not by a whole batch */
    return room / s->batch_size >= slots ? slots * s->batch_size : room;
}

int64_t steps_mean_examples(const steps *s)
{
    if (!s->kinds.n)
        return steps_examples(s, 0);
    double batch = (double)s->examples / (double)steps_batches_per_epoch(s);
    return (int64_t)(batch * (double)steps_slots(s, 0) + 0.5);
}

int64_t steps_batches_until(const steps *s, int64_t step)
{
    return steps_epoch_of(s, step) * steps_batches_per_epoch(s) + first_batch(s, step);
}

step_slot steps_slot(const steps *s, int64_t step, uint32_t slot)
{
    int64_t index = first_batch(s, step) + slot;
    int64_t first = index * s->batch_size, n = smaller(s->batch_size, s->examples - first);
    if (s->kinds.n)
        kind_batch(s, steps_epoch_of(s, step), index, &first, &n);
    return (step_slot){
        .batch_id = steps_batches_until(s, step) + slot,
        .epoch = steps_epoch_of(s, step),
        .index = index,
        .first = first,
        .n = n,
    };
}
