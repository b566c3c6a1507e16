/*
 * What an operator sees of a job that has ended, held against what its configuration gives where
 * nothing is done to it. Threads: one.
 */
#ifndef TEQUIO_TESTS_FAULT_TORTURE_JUDGE_H
#define TEQUIO_TESTS_FAULT_TORTURE_JUDGE_H

#include "fault/torture/plan.h"

typedef enum fault_found {
    RIGHT,
    HANGS,     /* it did not end, and nothing moved */
    LATE,      /* it, or a task of it, ended after its time */
    EXIT_CODE, /* not the one that is promised */
    WEIGHTS,   /* other weights */
    BATCHES,   /* a batch is lost, or counted twice */
    METRICS,   /* other metrics, and nothing says so */
    LITTER,    /* files that nobody needs */
    PROCESSES, /* somebody is left */
    FAULTS_FOUND,
} fault_found;

extern const char *const fault_words[FAULTS_FOUND];

/* Files that must be the same, where the mode promises it: of `dir`/job against `reference`/job. On
 * a fault `ret_why` says what. */
fault_found judge_results(const plan *p, const char *job, const char *reference, buf *ret_why);

/* Nothing in the job dir has a name of what is not finished, and in `temporary` (NULL: whatever) is
 * nothing. */
fault_found judge_litter(const char *job, const char *temporary, buf *ret_why);

/* How many steps metrics.jsonl has; 0: none yet. */
int judge_steps(const char *job);

#endif
