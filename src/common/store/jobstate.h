/*
 * How the last start of a job stands or ended: the file state.json, written whole and synced. With
 * the lock's pulse (jobdir.h) it is all that an evaluator, or whoever looks in, needs to know of a
 * master.
 *
 * A start that was killed leaves "running" behind, and a lock that nobody touches.
 *
 * Threads: functions without shared state.
 */
#ifndef TEQUIO_COMMON_STORE_JOBSTATE_H
#define TEQUIO_COMMON_STORE_JOBSTATE_H

#include "common/store/jobdir.h"

/* X(kind, the word in the file) */
#define JOBSTATE_MAP(X)                                                                            \
    X(JOBSTATE_RUNNING, "running")                                                                 \
    X(JOBSTATE_DONE, "done")                                                                       \
    X(JOBSTATE_PREEMPTED, "preempted")                                                             \
    X(JOBSTATE_FAILED, "failed")

typedef enum jobstate_kind {
    JOBSTATE_NONE, /* there is no file yet */
#define X(kind, word) kind,
    JOBSTATE_MAP(X)
#undef X
        JOBSTATE_COUNT
} jobstate_kind;

typedef struct jobstate {
    jobstate_kind kind;
    int64_t start;  /* which one, counted from 1 */
    int exit_code;  /* of the master */
    char *text;     /* why it failed, "" otherwise; owned */
    uint64_t trace; /* another one each time the file is written */
} jobstate;

void jobstate_fini(jobstate *s);

/* E_DATA when the file is not what it should be. */
MUST_USE status jobstate_read(const jobdir *d, jobstate *ret, error *err);

/* The start that jobdir_count_start counted runs. */
MUST_USE status jobstate_begin(const jobdir *d, error *err);

/* It has ended so, with that text. Only who still holds the job writes it (E_LOST). */
MUST_USE status jobstate_end(const jobdir *d, status how, const char *text, error *err);

/* The status whose exit code that was: what others end with, too. */
status jobstate_outcome(const jobstate *s);

const char *jobstate_word(jobstate_kind kind); /* "none" for JOBSTATE_NONE */

#endif
