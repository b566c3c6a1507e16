/*
 * When evaluations say that training is on a plateau: PyTorch's ReduceLROnPlateau. A pure function of the values of
 * one metric at the ends of epochs, in their order. What becomes of the rate says lr_schedule.h.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_OPTIM_PLATEAU_H
#define TEQUIO_OPTIM_PLATEAU_H

#include <stdbool.h>
#include <stdint.h>

typedef struct plateau_rule {
    bool is_used;
    bool more_is_better;
    bool is_relative;               /* threshold_mode "rel" */
    double threshold;
    int64_t patience, cooldown;     /* epochs */
    int64_t first_epoch, end_epoch; /* those that count: [first, end) */
} plateau_rule;

typedef struct plateau {
    plateau_rule rule;
    double best;
    int64_t bad_epochs, cooling;
    uint32_t reductions; /* so far */
} plateau;

plateau plateau_begin(const plateau_rule *rule);
/* The metric at the end of an epoch, counted from 0; NaN is never better. */
void plateau_take(plateau *p, int64_t epoch, double value);

#endif
