/*
 * What the tasks of a job have written of what they did last (common/live/recording.h): of the last quarter of a minute
 * in which any has, the moment at which most have, and of each task its file that is nearest to it; by the master's
 * clock, as far as files tell how it differs from theirs (common/live/clock_offset.h).
 *
 * Threads: functions without shared state.
 */
#ifndef TEQUIO_CLI_LOOK_RECORDINGS_H
#define TEQUIO_CLI_LOOK_RECORDINGS_H

#include "common/live/recording.h"

#include <jansson.h>

enum { RECORDING_NAME = 64 };

typedef struct recording_file {
    char name[RECORDING_NAME];      /* below JOB_DIR/log/events */
    recording r;
} recording_file;

/* A task, and what it has written. */
typedef struct recorded_task {
    task task;
    char name[TASK_NAME];
    const recording_file *file;     /* NULL: nothing, or long before the others */
    bool is_old;                    /* there is one of long before */
} recorded_task;

/* Who computes a slot of a step. */
typedef struct slot_owner {
    int task, lane;                 /* place in `tasks`; -1: not known */
} slot_owner;

typedef struct recordings {
    recording_file *files;
    size_t n_files;
    char **refused;                 /* why a file was not read, which is named */
    size_t n_refused;
    recorded_task *tasks;           /* masters first, then workers, servers, evaluators */
    size_t n_tasks;
    slot_owner *owners;             /* [n_slots] */
    size_t n_slots;                 /* of a step; 0: not known, or there are none, in the modes ssp and async */
    int64_t wall_us;                /* the moment; 0: nobody has written anything */
} recordings;

/* `live` tells which tasks there are (live.json); NULL: it is not there. Damaged files
 * are refused by name; others count all the same. */
MUST_USE status recordings_open(const char *job_dir, const json_t *live, recordings *ret, error *err);
void recordings_close(recordings *r);

/* Modes ssp and async: batches are leased one by one, and a step has no slots that somebody owns. */
bool recordings_are_leased(const recordings *r);

/* It was written as the process died or gave up. */
bool recording_is_of_end(const recording *r);

/* The task's place; -1: it is not there. */
int recordings_find(const recordings *r, task t);

/* A role's task of a process: lanes beside a master are the master's. false: it has no such role. */
bool recording_task_of(const recording *r, role of, task *ret);

#endif
