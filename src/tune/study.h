/*
 * A study: the trials of a search so far, as what is written of them says. A trial begins with its values, is
 * evaluated, perhaps paused and resumed; then it ends, once. A record that does not fit to those before it is refused,
 * so nothing counts twice. Trials of a search before this one may be known, too: they come before the first trial, tell
 * samplers what a point is worth, and are none of this search's.
 *
 * Records are JSON objects:
 *     {"prior": 2, "values": {...}, "objective": 0.88}   null: it failed
 *     {"trial": 3, "state": "running", "values": {"trainer.optimizer.lr": 0.01}}
 *     {"trial": 3, "state": "evaluated", "epoch": 1, "steps": 469, "objective": 0.88}   null: it is not finite
 *     {"trial": 3, "state": "paused"}        after that evaluation
 *     {"trial": 3, "state": "resumed"}
 *     {"trial": 3, "state": "complete", "objective": 0.91, "steps": 938}
 *     {"trial": 3, "state": "stopped"}       early, after its last evaluation
 *     {"trial": 3, "state": "failed", "why": "exit 3: ..."}
 *
 * Ownership: a study owns its trials and borrows its space. Threads: one at a time.
 */
#ifndef TEQUIO_TUNE_STUDY_H
#define TEQUIO_TUNE_STUDY_H

#include "tune/space.h"

/* Of numbers in records: so many survive being written and read. */
enum { STUDY_DIGITS = SPACE_DIGITS };

typedef enum trial_state {
    TRIAL_RUNNING,
    TRIAL_PAUSED,
    TRIAL_COMPLETE,
    TRIAL_STOPPED,
    TRIAL_FAILED,
    TRIAL_STATES
} trial_state;

typedef struct trial_evaluation {
    int64_t epoch, steps; /* trained before it; epochs from 1 on, ascending */
    double objective;     /* NaN: it is not finite */
} trial_evaluation;

typedef struct trial {
    int number;       /* from 1 */
    trial_state state;
    double *point;    /* [space->n] */
    double objective; /* of COMPLETE what its job says, of others the best of the evaluations so far; NaN: none */
    int64_t steps;    /* trained, likewise; 0: none */
    int resumed;      /* so often */
    trial_evaluation *evaluations; /* [n_evaluations] */
    int n_evaluations, cap_evaluations;
} trial;

/* What is known of a trial of a search before. */
typedef struct prior_trial {
    double *point;    /* [space->n] */
    double objective; /* NaN: it failed */
} prior_trial;

typedef struct study {
    const space *space;
    int better;       /* +1: larger objectives are better, -1: smaller */
    trial *trials;    /* [n]: number i + 1 is at i */
    int n, cap;
    prior_trial *priors; /* [n_priors] */
    int n_priors, cap_priors;
} study;

void study_init(study *s, const space *searched, int better);
void study_fini(study *s);

/* Records; the caller decrefs them. */
json_t *study_record_running(const study *s, int number, const double *point);
json_t *study_record_evaluated(int number, const trial_evaluation *e);
json_t *study_record_paused(int number);
json_t *study_record_resumed(int number);
json_t *study_record_stopped(int number);
json_t *study_record_complete(int number, double objective, int64_t steps);
json_t *study_record_failed(int number, const char *why);
json_t *study_record_prior(const study *s, int number, const double *point, double objective);
/* All that is known of a study's trials, prior ones first, as prior ones of another: a list of records. */
json_t *study_records_for_another(const study *s);

/* E_DATA: it says what is not so, or cannot be now; the study stays as it was. */
MUST_USE status study_take(study *s, const json_t *record, error *err);

int study_count(const study *s, trial_state state);
/* The complete trial with the best objective, of equal ones the first; NULL: none is complete. */
const trial *study_best(const study *s);

/* How many trials, prior ones among them, tell something of their point: they run no more, and have an objective. */
int study_count_known(const study *s);

/* How many points were tried, here and in the searches before: by these samplers count. */
int study_count_points(const study *s);

/* Whether a trial, however it ended, or a prior one has this point. */
bool study_has(const study *s, const double *point);

/* The better of two objectives; NaN is worse than anything. */
double study_better(const study *s, double a, double b);

const char *trial_state_name(trial_state state);

#endif
