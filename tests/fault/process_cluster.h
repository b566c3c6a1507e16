/*
 * A cluster of real processes under a test's hand: a chief, two servers, two workers, and whom the
 * test adds. Who dies is started again, as the local launcher does it, until the chief has ended
 * with 0; how each life ended is known exactly.
 *
 * Everything lies in one folder of the test: data, configuration, job dir, logs. No process
 * outlives the test. Threads: one.
 */
#ifndef TEQUIO_TESTS_FAULT_PROCESS_CLUSTER_H
#define TEQUIO_TESTS_FAULT_PROCESS_CLUSTER_H

#include "job/roster.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCESS_CLUSTER_TASKS = 8, PROCESS_CLUSTER_WORKERS = 2, PROCESS_CLUSTER_SERVERS = 2, PROCESS_CLUSTER_LIVES = 6 };

/* TEQUIO_SET of all its tasks. */
#define PROCESS_CLUSTER_SETTINGS "distributed.lanes=1\ndistributed.master_trains=false"

/* What is different for one task of a cluster. */
typedef struct process_cluster_oddity {
    const char *task;      /* "worker.1"; NULL: nobody */
    const char *job_dir;   /* instead of "job" in the cluster's folder; NULL: the same */
    bool first_dir;        /* only in its first life */
    const char *first_set; /* "NAME=VALUE" in its environment, in its first life only; NULL: none.
                            * It may make it fail */
} process_cluster_oddity;

typedef struct process_cluster_life {
    pid_t pid;
    int wait_status; /* once `is_over` */
    bool is_over;
} process_cluster_life;

typedef struct process_cluster_task {
    char name[TASK_NAME];
    process_cluster_life lives[PROCESS_CLUSTER_LIVES];
    int n_lives;
} process_cluster_task;

/* Kept by reference until process_cluster_fini. */
typedef struct process_cluster_options {
    const char *dir;             /* process_cluster_folder's */
    const char *spec;            /* TEQUIO_FAULT of all; NULL: nothing goes wrong on purpose */
    const char *overrides;       /* of the configuration, as JSON */
    const process_cluster_oddity *oddity; /* NULL: none */
    int servers;                 /* 0: PROCESS_CLUSTER_SERVERS */
    bool goes_on;                /* with the job that is there, instead of a new one */
} process_cluster_options;

typedef struct process_cluster {
    process_cluster_options o;
    roster roster;
    process_cluster_task tasks[PROCESS_CLUSTER_TASKS]; /* as the roster has them, the chief first */
    int n;
} process_cluster;

/* Data and $dir/config.jsonnet in a new folder below TMPDIR; the caller removes it. */
char *process_cluster_folder(void);

/* Starts all of them. */
void process_cluster_start(process_cluster *h, const process_cluster_options *options);

/* Waits a little and reaps; whoever died is started again. false: nobody runs any more. */
bool process_cluster_turn(process_cluster *h);

/* Turns until all have ended; false: not within that time, and whoever was left is killed. */
bool process_cluster_end(process_cluster *h, int limit_s);

/* Kills whoever runs. */
void process_cluster_fini(process_cluster *h);

process_cluster_task *process_cluster_task_of(process_cluster *h, const char *name);
void process_cluster_signal(process_cluster *h, const char *name, int signal);
/* Of its last life: the code, 128 + signal, or -1 while it runs. */
int process_cluster_code(const process_cluster_task *t);
bool process_cluster_was_killed(const process_cluster_task *t, int life); /* from 1, by SIGKILL */

/* How often the logs of all, or of one task, say that. */
int process_cluster_says(const process_cluster *h, const char *name, const char *text);
void process_cluster_print_logs(const process_cluster *h, int lines);
void process_cluster_print_log(const char *dir, const char *name, int lines); /* of $dir/NAME.log */

/* Of the job's summary. */
typedef struct process_cluster_result {
    char sha256[65];
    int64_t batches;
} process_cluster_result;

bool process_cluster_result_of(const char *dir, const char *job, process_cluster_result *ret);

/* Runs `tequio train` with these further arguments (NULL at the end) on $dir/config.jsonnet; what
 * it says goes to $dir/NAME.log. Its code, or 124 after the limit. */
int process_cluster_train(const char *dir, const char *name, const char *const *arguments, int limit_s);

/* The job that nobody disturbs, with these overrides. Where it fails, it says why, and the test is
 * over. */
process_cluster_result process_cluster_undisturbed(const char *dir, const char *overrides, int limit_s);

#endif
