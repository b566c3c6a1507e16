#include "common/parts/steps.h"

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

int64_t steps_batches_per_epoch(const steps *s)
{
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

int64_t steps_examples(const steps *s, int64_t step)
{
    int64_t first = first_batch(s, step) * s->batch_size;
    int64_t room = s->examples - first;
    int64_t slots = steps_slots(s, step);
    /* only the last slot may be smaller, and not by a whole batch */
    return room / s->batch_size >= slots ? slots * s->batch_size : room;
}

int64_t steps_batches_until(const steps *s, int64_t step)
{
    return steps_epoch_of(s, step) * steps_batches_per_epoch(s) + first_batch(s, step);
}

step_slot steps_slot(const steps *s, int64_t step, uint32_t slot)
{
    int64_t index = first_batch(s, step) + slot;
    int64_t first = index * s->batch_size;
    return (step_slot){
        .batch_id = steps_batches_until(s, step) + slot,
        .epoch = steps_epoch_of(s, step),
        .index = index,
        .first = first,
        .n = smaller(s->batch_size, s->examples - first),
    };
}
