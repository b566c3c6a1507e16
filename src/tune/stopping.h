/*
 * Early stopping: which trials end before their job does, or rest while better ones go on. Each rule is a pure function
 * of its settings and the study, so a search that goes on after a kill decides as it would have. A rule judges a trial
 * once after every evaluation, before the next one is taken into the study.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_TUNE_STOPPING_H
#define TEQUIO_TUNE_STOPPING_H

#include "tune/study.h"

typedef struct stopping_rule stopping_rule;

typedef struct stopping {
    const stopping_rule *rule;
    int min_epochs;       /* >= 1: every trial trains so many */
    int reduction_factor; /* >= 2; of asha: one trial in so many goes on */
} stopping;

typedef enum stopping_verdict { TRIAL_GOES_ON, TRIAL_PAUSES, TRIAL_STOPS } stopping_verdict;

struct stopping_rule {
    const char *name; /* of --early-stopping */
    /* Of a trial that is running and was evaluated. */
    stopping_verdict (*judge)(const stopping *how, const study *s, const trial *t);
    /* The paused trial that is to go on rather than that a new one begins; NULL: none. `is_end`: nothing runs, and no
     * trial can begin. NULL: the rule pauses none. */
    const trial *(*promote)(const stopping *how, const study *s, bool is_end);
};

extern const stopping_rule stopping_none, stopping_median, stopping_asha;

/* By its name; NULL: there is none. */
const stopping_rule *stopping_rule_named(const char *name);

/* As JSON: to tell one from another. */
json_t *stopping_describe(const stopping *how);

#endif
