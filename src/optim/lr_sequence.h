/*
 * Learning-rate schedules one after the other, as AllenNLP's `combined`; most often there is one. Each counts steps
 * and epochs from where it begins, and its base is the rate that the one before ended with. Behind the last one that
 * rate stays.
 *
 * Any thread.
 */
#ifndef TEQUIO_OPTIM_LR_SEQUENCE_H
#define TEQUIO_OPTIM_LR_SEQUENCE_H

#include "optim/lr_schedule.h"

enum { LR_SEQUENCE = 8 };

typedef struct lr_sequence {
    lr_schedule schedules[LR_SEQUENCE + 1]; /* one more: what stays */
    int64_t steps[LR_SEQUENCE + 1];         /* of each; 0: to the end */
} lr_sequence;

/* "combined", or the name of the only one. */
const char *lr_sequence_name(const lr_sequence *s);

/* Of a step, before which the rate was reduced so many times (plateau.h). */
float lr_sequence_rate(const lr_sequence *s, int64_t step, uint32_t reductions);

/* Of sequences alike but for the planned end of training: have they the same rates, as long as it goes? */
bool lr_sequence_equal(const lr_sequence *a, const lr_sequence *b);

#endif
