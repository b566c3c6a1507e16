/*
 * Results: what evaluations say, the best checkpoint, early stopping, and the files of the end.
 *
 * An evaluator (in another process or a thread beside the master) writes eval/step-N.json; the
 * master only reads them. Best and early stopping are decided at epoch ends, in their order.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_ACCOUNTING_RESULTS_H
#define TEQUIO_MASTER_ACCOUNTING_RESULTS_H

#include "common/base/json.h"
#include "common/parts/schedule.h"
#include "common/store/checkpoint.h"
#include "master/accounting/accounting.h"
#include "metric/goal.h"
#include "metric/metrics.h"
#include "optim/plateau.h"

typedef struct results results;

typedef struct results_options {
    const jobdir *dir;
    const flat *flat;
    steps steps;
    metric_goal goal;                   /* what epochs are compared by */
    plateau_rule plateau;               /* by what evaluations reduce the learning rate, if they do */
    int64_t patience;                   /* epochs without improvement; 0: never stop early */
    bool evaluates;                     /* somebody will evaluate */
    schedule schedule;
    bool taken_back;                    /* the job goes back to `step`: later evaluations count no more */
} results_options;

/* Reads back what epochs before `step` left (metrics_epoch_<n>.json). */
MUST_USE status results_open(const results_options *options, int64_t step, results **ret, error *err);
void results_close(results **r);

/* What training measured in an epoch: means, and figures of metrics, which may be empty. */
typedef struct results_training {
    const metric_set *means;
    const metric_figures *figures;
} results_training;

/* The epoch that ends at `step` is trained, and its checkpoint is committed. */
MUST_USE status results_epoch(results *r, int64_t step, const results_training *training, double wall_s, error *err);

/* Looks for evaluations; *ret_stop: patience is over. */
MUST_USE status results_poll(results *r, bool *ret_stop, error *err);

bool results_waiting(const results *r);             /* an epoch's evaluation is not here yet */
bool results_decide(const results *r);              /* what epochs are judged to be decides how training goes on */
/* The learning rate goes by the evaluation of that step, which is not here yet. */
bool results_needs(const results *r, int64_t step);
/* So often evaluations had reduced the learning rate before a step (optim/plateau.h). */
uint32_t results_reductions(const results *r, int64_t step);
int64_t results_next_judged(const results *r); /* the end of the next epoch to be judged; -1: none is */
bool results_has(const results *r, int64_t step);   /* that step was evaluated */
int64_t results_judged_step(const results *r);      /* of the newest epoch that was judged; -1: none */
int64_t results_best_step(const results *r);        /* -1: none yet */

typedef struct results_end {
    const accounting_totals *totals;
    int64_t steps_done, batches_applied;
    int64_t lanes, workers, ps, restarts;
    const metric_figures *figures;      /* of the last epoch that is complete; NULL: none */
    json_t *lane_time;                  /* where their time went (common/live/time_shares.h); NULL: not known */
} results_end;

/* The mean loss of the last epoch, as far as it went. NaN: nothing was reported. */
double results_training_loss(const accounting_totals *t);
/* Is that of weights worse than untrained ones: both of the last epoch and of the last step at least
 * twice the first step's? More than that where the first step had few examples to tell of. */
bool results_diverged(const accounting_totals *t);

/* model.safetensors from the last checkpoint, metrics.json, summary.json (last). */
MUST_USE status results_finish(results *r, const results_end *end, error *err);

#endif
