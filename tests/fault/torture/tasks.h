/*
 * The processes of one job, as an operator runs them: `tequio train --workers N`, or a TF_CONFIG
 * for each task and a loop that starts again who left with a code from 128 on. Threads: one.
 */
#ifndef TEQUIO_TESTS_FAULT_TORTURE_TASKS_H
#define TEQUIO_TESTS_FAULT_TORTURE_TASKS_H

#include "fault/torture/links.h"
#include "fault/torture/plan.h"

#include <sys/types.h>

/* What the operator has started: the launcher, or a task. */
typedef struct task {
    char name[16]; /* "launcher", "chief.0", "worker.1" */
    int port;
    pid_t pid; /* 0: is not running */
    int n_lives;
    int code;          /* of its last life; 128 + the signal */
    bool is_disturbed; /* something was done to this life that may end it */
    bool is_over;      /* left with 0 */
    int64_t again_us;  /* not to be started again before */
    int64_t rest_us;   /* how long it stays away at least, the next time */
} task;

typedef struct tasks {
    const plan *plan;
    const char *program, *clock_library, *free_ports;
    const char *dir; /* of this job alone, with config.jsonnet, job, log */
    task all[MOST_TASKS];
    int n;
    links *links; /* NULL: tasks dial each other */
    char key[65]; /* CURVE, by hand */
    char *overrides;
    char *roles[MOST_TASKS]; /* by hand: TF_CONFIG=... */
    int n_starts;
    bool was_disk_full;     /* a lack that lasts ends lives, to be tried again */
    bool was_told_to_leave; /* by SIGTERM, somebody: who comes back too soon is told to leave as
                               well */
    char surprise[64];      /* "worker.1 left with 200": the first to whom nothing had been done */
    char failure[64];       /* "worker.1 left with 2": for good; "": nobody */
} tasks;

/* Starts all. False: ports cannot be had. */
bool tasks_start(tasks *t);

/* Reaps and starts again. False: all are over, or somebody has failed for good. */
bool tasks_turn(tasks *t);

/* The one whose end is the job's. */
task *tasks_first(tasks *t);

/* Pids of the processes that play tasks now, without a launcher and what it has beside them. */
int tasks_pids(const tasks *t, pid_t ret[MOST_TASKS]);

/* Something is done to that process: its end is no surprise. True: the operator's loop watches it,
 * no launcher. */
bool tasks_disturb(tasks *t, pid_t pid);

/* Moves the clock of a task, or all clocks. */
void tasks_move_clock(tasks *t, int i, int64_t seconds);

void tasks_fini(tasks *t);

#endif
