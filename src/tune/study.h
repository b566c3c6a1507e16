/*
 * A study: the trials of a search so far, as what is written of them says. A trial begins with its values; then it
 * ends, once. A record that does not fit to those before it is refused, so no trial counts twice.
 *
 * Records are JSON objects:
 *     {"trial": 3, "state": "running", "values": {"trainer.optimizer.lr": 0.01}}
 *     {"trial": 3, "state": "complete", "objective": 0.91, "steps": 938}
 *     {"trial": 3, "state": "failed", "why": "exit 3: ..."}
 *
 * Ownership: a study owns its trials and borrows its space. Threads: one at a time.
 */
#ifndef TEQUIO_TUNE_STUDY_H
#define TEQUIO_TUNE_STUDY_H

#include "tune/space.h"

/* Of numbers in records: so many survive being written and read. */
enum { STUDY_DIGITS = 15 };

typedef enum trial_state { TRIAL_RUNNING, TRIAL_COMPLETE, TRIAL_FAILED, TRIAL_STATES } trial_state;

typedef struct trial {
    int number;       /* from 1 */
    trial_state state;
    double *point;    /* [space->n] */
    double objective; /* of COMPLETE; NaN of others */
    int64_t steps;    /* trained; likewise */
} trial;

typedef struct study {
    const space *space;
    int better;       /* +1: larger objectives are better, -1: smaller */
    trial *trials;    /* [n]: number i + 1 is at i */
    int n, cap;
} study;

void study_init(study *s, const space *searched, int better);
void study_fini(study *s);

/* Records; the caller decrefs them. */
json_t *study_record_running(const study *s, int number, const double *point);
json_t *study_record_complete(int number, double objective, int64_t steps);
json_t *study_record_failed(int number, const char *why);

/* E_DATA: it says what is not so, or cannot be now; the study stays as it was. */
MUST_USE status study_take(study *s, const json_t *record, error *err);

int study_count(const study *s, trial_state state);
/* The complete trial with the best objective, of equal ones the first; NULL: none is complete. */
const trial *study_best(const study *s);

/* Whether a trial, however it ended, has this point. */
bool study_has(const study *s, const double *point);

const char *trial_state_name(trial_state state);

#endif
