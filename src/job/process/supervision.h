/*
 * What supervise.c knows of its tasks, and what is made of their ends (verdict.c). Only for these two.
 * Threads: as supervise.h says.
 */
#ifndef TEQUIO_JOB_PROCESS_SUPERVISION_H
#define TEQUIO_JOB_PROCESS_SUPERVISION_H

#include "job/process/signals.h"
#include "job/process/stillness.h"
#include "job/process/supervise.h"

#include <poll.h>

enum { PREEMPTED = 143 };
enum { SUPERVISION_LEAVE_US = 5 * 1000 * 1000 }; /* how long tasks may take to leave by themselves */

typedef struct supervision {
    const supervise_options *options;
    child *children;   /* each the newest life of its task */
    restart *restarts; /* of the same tasks */
    int n, n_running;
    signals signals;
    struct pollfd *polls; /* [1 + POLLS * n]: signals, then each child's input and streams */
    child *first;         /* whose failure was seen first */
    child *blamed;        /* what failed first as the master has it; NULL: it has not said */
    bool is_done;         /* the master has ended with 0: so has the job */
    bool is_stop_asked;   /* the master was asked for the end of all */
    bool is_preempted;    /* some task left with the code for it */
    bool is_ending;       /* the others are being stopped */
    bool is_cut_short;    /* what still ran was killed */
    bool is_too_long;     /* the time limit is over */
    bool is_needy;        /* what tasks need is not there, which was said */
    int64_t limit_at_us;  /* when it is; INT64_MAX: never */
    int64_t stop_at_us;   /* when the others are stopped; INT64_MAX: never */
    int64_t kill_at_us;   /* when whoever still runs is killed; INT64_MAX: never */
    int64_t hung_at_us;   /* when whoever has not left with the last master is; INT64_MAX: never */
    int64_t look_at_us;   /* when the master, which all others have left, is looked at; INT64_MAX: never */
    stillness master;     /* as it was then */
} supervision;

/* How the task ended, and its last words, on the screen. */
void supervision_say_end(const child *c);

/* The exit code of all when all are gone, with the story of a failure in `err`. */
int supervision_verdict(const supervision *s, error *err);

#endif
