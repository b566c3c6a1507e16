/*
 * What the epochs judged so far amount to: the best, epochs without a better one, and how often the learning rate was
 * reduced. A pure function of their evaluations, in the order of epochs.
 *
 * Threads: values; pure functions.
 */
#ifndef TEQUIO_MASTER_ACCOUNTING_STANDING_H
#define TEQUIO_MASTER_ACCOUNTING_STANDING_H

#include "common/base/json.h"
#include "metric/goal.h"
#include "optim/plateau.h"

typedef struct standing {
    double best;                    /* score; with best_step >= 0 */
    int64_t best_epoch, best_step;  /* -1: none yet */
    int64_t without_improvement;    /* epochs */
    plateau plateau;
} standing;

standing standing_begin(const plateau_rule *rule);

/* Of an evaluation: the sum of the goal's metrics by their signs, so that larger is better. NaN where one is null, as
 * what is not finite is written. E_CONFIG names what the evaluation does not have. */
MUST_USE status standing_score(const metric_goal *g, const json_t *evaluation, double *ret, error *err);

/* After one epoch more, which ends at version `step`. A strictly better score is the best. */
standing standing_after(const standing *s, const metric_goal *g, int64_t epoch, int64_t step, double score);

#endif
