/*
 * From step number to batches: a pure function of (examples, batch size, K). Any thread.
 *
 * An epoch has ceil(examples / batch_size) batches, the last one maybe smaller (drop_last: then it
 * is dropped, unless it is the only one, so an epoch is never empty); a step takes up to K
 * consecutive batches of one epoch. Batch ids run on over epochs. Steps count from 0.
 *
 * Or examples are of several kinds, such as lengths, each cut into batches of its own size and a smaller last one; the
 * batches of all kinds come in an order that is drawn for the epoch. So a batch has another size in each place of
 * each epoch, but their number is always the same.
 */
#ifndef TEQUIO_COMMON_PARTS_STEPS_H
#define TEQUIO_COMMON_PARTS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STEPS_KINDS = 16 };

typedef struct steps_kind {
    int64_t examples, batch_size; /* > 0 */
} steps_kind;

typedef struct steps_kinds {
    size_t n;           /* 0: all batches have one size */
    steps_kind at[STEPS_KINDS];
} steps_kinds;

typedef struct steps {
    int64_t examples;   /* per epoch, > 0 */
    int64_t batch_size; /* > 0 */
    int64_t per_step;   /* K, 1 .. UINT32_MAX */
    bool drop_last;
    steps_kinds kinds;
    uint64_t seed;      /* of kinds: what the order of their batches is drawn from */
    bool shuffle;       /* false: they come kind by kind */
} steps;

typedef struct step_slot {
    int64_t batch_id;     /* over all epochs */
    int64_t epoch, index; /* batch `index` of that epoch */
    int64_t first, n;     /* places [first, first + n) in the epoch's order of examples: kind by kind, if there are */
} step_slot;

int64_t steps_batches_per_epoch(const steps *s);
int64_t steps_per_epoch(const steps *s);
int64_t steps_epoch_of(const steps *s, int64_t step);
uint32_t steps_slots(const steps *s, int64_t step);        /* 1 .. K */
int64_t steps_examples(const steps *s, int64_t step);      /* of the whole step */
int64_t steps_mean_examples(const steps *s);               /* of a step whose slots are full, about */
int64_t steps_batches_until(const steps *s, int64_t step); /* batches in steps 0 .. step-1 */
step_slot steps_slot(const steps *s, int64_t step, uint32_t slot);
/* The kind of such a batch. */
size_t steps_kind_of(const steps *s, const step_slot *slot);

#endif
