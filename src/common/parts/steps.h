/*
 * From step number to batches: a pure function of (examples, batch size, K). Any thread.
 *
 * An epoch has ceil(examples / batch_size) batches, the last one maybe smaller (drop_last: then it
 * is dropped, unless it is the only one, so an epoch is never empty); a step takes up to K
 * consecutive batches of one epoch. Batch ids run on over epochs. Steps count from 0.
 */
#ifndef TEQUIO_COMMON_PARTS_STEPS_H
#define TEQUIO_COMMON_PARTS_STEPS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct steps {
    int64_t examples;   /* per epoch, > 0 */
    int64_t batch_size; /* > 0 */
    int64_t per_step;   /* K, 1 .. UINT32_MAX */
    bool drop_last;
} steps;

typedef struct step_slot {
    int64_t batch_id;     /* over all epochs */
    int64_t epoch, index; /* batch `index` of that epoch */
    int64_t first, n;     /* places [first, first + n) in the epoch's order of examples */
} step_slot;

int64_t steps_batches_per_epoch(const steps *s);
int64_t steps_per_epoch(const steps *s);
int64_t steps_epoch_of(const steps *s, int64_t step);
uint32_t steps_slots(const steps *s, int64_t step);        /* 1 .. K */
int64_t steps_examples(const steps *s, int64_t step);      /* of the whole step */
int64_t steps_batches_until(const steps *s, int64_t step); /* batches in steps 0 .. step-1 */
step_slot steps_slot(const steps *s, int64_t step, uint32_t slot);

#endif
