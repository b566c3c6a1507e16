/*
 * The tally: metrics of slots become metrics of steps and epochs. Pure; the ledger's arithmetic,
 * for what arrives and for what is read back from the journal alike.
 *
 * Reports come in any order and may come again; each slot of a step is taken once. Steps become
 * complete in their order, and the metrics of a step are added in the order of its slots, so the
 * sums are the same to the last bit whoever computed and reported what when.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_MASTER_BOOKS_TALLY_H
#define TEQUIO_MASTER_BOOKS_TALLY_H

#include "common/parts/steps.h"
#include "metric/reports.h"

enum { TALLY_EPOCHS = 8 }; /* a checkpoint is fewer epochs behind the reports */

/* All there is to know of the steps complete. */
typedef struct tally_sums {
    int64_t step;     /* so many are complete */
    int64_t examples; /* in them, over the job */
    int64_t lost;     /* slots in them whose reports are missing, and of the last one: */
    int64_t last_lost;
    metric_set last_step;
    metric_set epoch;                /* of the epoch under way, as far as it goes */
    metric_set epochs[TALLY_EPOCHS]; /* [epoch % TALLY_EPOCHS] of those complete */
} tally_sums;

typedef struct tally tally;

tally *tally_create(const steps *s, const tally_sums *from);
void tally_destroy(tally **t);

/* The sums at a step of which nothing but its number is known. */
tally_sums tally_sums_at(const steps *s, int64_t step);

/* False: known already, of a step that is over, nonsense, or too far ahead of the oldest open step: it
 * is taken when that one is over. */
bool tally_take(tally *t, const slot_report *r);
/* The oldest open step, if it is complete or `anyway`, enters the sums. What is missing of a step
 * that enters anyway counts in its examples, for the weights have it, but not in its metrics. */
bool tally_advance(tally *t, bool anyway);

const tally_sums *tally_sums_of(const tally *t);
/* A step a report came for, the highest: all steps before it are in the weights. -1: none. */
int64_t tally_highest(const tally *t);
bool tally_has(const tally *t, int64_t step, uint32_t slot);
/* The reports taken of steps not complete: *at counts them from 0; false: no more. */
bool tally_next_open(const tally *t, size_t *at, slot_report *ret);

#endif
