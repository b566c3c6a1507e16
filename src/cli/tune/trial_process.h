/*
 * Trials as processes: each runs `tequio` with a command line of its own and leaves its job in a folder. They die
 * with the one that started them. What they print goes into a log file.
 *
 * Threads: the main one, which waits in poll(2).
 */
#ifndef TEQUIO_CLI_TUNE_TRIAL_PROCESS_H
#define TEQUIO_CLI_TUNE_TRIAL_PROCESS_H

#include "job/process/child.h"
#include "job/process/signals.h"

typedef struct trial_process {
    child child;
    int number;       /* of the trial; 0: this place is free */
    int64_t began_us;
    bool is_leaving;  /* it was asked to */
    int64_t again_us; /* one that has ended is not told before that; 0: at once */
    int64_t ended_us; /* when its end was put off for the first time; 0: it was not */
    int pause_ms;     /* of the last time */
} trial_process;

/* What trials are told beside their number, CLOUD_ML_TRIAL_ID. */
typedef struct trial_environment {
    bool has_tf_config; /* TF_CONFIG with nothing but task.trial; otherwise there is none */
    bool shares_cpus;   /* they compute on this machine: OMP_NUM_THREADS, if it has none, deals it out */
} trial_environment;

typedef struct trial_processes {
    trial_process *at; /* [places] */
    int places, running;
    trial_environment environment;
    int threads;       /* of each, where they share this machine's */
    bool is_stopping;  /* a signal asked for an end */
    signals signals;
    struct pollfd *polls;
} trial_processes;

MUST_USE status trial_processes_open(int places, trial_environment environment, trial_processes *ret, error *err);
/* Kills what still runs. */
void trial_processes_close(trial_processes *t);

/* There must be a free place. argv[0] included. E_IO. */
MUST_USE status trial_processes_start(trial_processes *t, int number, char *const *argv, const char *log_path,
                                      error *err);

/* Waits until one has ended: *ret is it, to be freed by trial_process_free. Or until `most_ms` are over or a signal
 * came that asks for an end: *ret is NULL. After a signal all are asked to leave; the second time they are killed. */
MUST_USE status trial_processes_wait(trial_processes *t, int most_ms, trial_process **ret, error *err);
void trial_process_free(trial_processes *t, trial_process *p);

/* Its end, which cannot be dealt with now, is told again after a pause that doubles, or once all are asked to leave.
 * False: it has been put off for five minutes, and no longer. */
bool trial_process_put_off(trial_process *p);

/* SIGTERM, once: it takes a checkpoint and leaves with 143. */
void trial_process_stop(trial_process *p);
void trial_processes_stop(trial_processes *t);

/* NULL: it does not run. */
const trial_process *trial_processes_find(const trial_processes *t, int number);

#endif
