/*
 * A cluster of real processes under a test's hand: a chief, two servers, two workers, and whom the
 * test adds. Who dies is started again, as the local launcher does it, until the chief has ended
 * with 0; how each life ended is known exactly.
 *
 * Everything lies in one folder of the test: data, configuration, job dir, logs. No process
 * outlives the test. Threads: one.
 */
#ifndef TEQUIO_TESTS_FAULT_HAMLET_H
#define TEQUIO_TESTS_FAULT_HAMLET_H

#include "job/roster.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HAMLET_TASKS = 8, HAMLET_WORKERS = 2, HAMLET_SERVERS = 2, HAMLET_LIVES = 6 };

/* TEQUIO_SET of all its tasks. */
#define HAMLET_SETTINGS "distributed.lanes=1\ndistributed.master_trains=false"

/* What is different for one task of a hamlet. */
typedef struct hamlet_oddity {
    const char *task;      /* "worker.1"; NULL: nobody */
    const char *job_dir;   /* instead of "job" in the hamlet's folder; NULL: the same */
    bool first_dir;        /* only in its first life */
    const char *first_set; /* "NAME=VALUE" in its environment, in its first life only; NULL: none.
                            * It may make it fail */
} hamlet_oddity;

typedef struct hamlet_life {
    pid_t pid;
    int wait_status; /* once `is_over` */
    bool is_over;
} hamlet_life;

typedef struct hamlet_task {
    char name[TASK_NAME];
    hamlet_life lives[HAMLET_LIVES];
    int n_lives;
} hamlet_task;

/* Kept by reference until hamlet_fini. */
typedef struct hamlet_options {
    const char *dir;             /* hamlet_folder's */
    const char *spec;            /* TEQUIO_FAULT of all; NULL: nothing goes wrong on purpose */
    const char *overrides;       /* of the configuration, as JSON */
    const hamlet_oddity *oddity; /* NULL: none */
    int servers;                 /* 0: HAMLET_SERVERS */
    bool goes_on;                /* with the job that is there, instead of a new one */
} hamlet_options;

typedef struct hamlet {
    hamlet_options o;
    roster roster;
    hamlet_task tasks[HAMLET_TASKS]; /* as the roster has them, the chief first */
    int n;
} hamlet;

/* Data and $dir/config.jsonnet in a new folder below TMPDIR; the caller removes it. */
char *hamlet_folder(void);

/* Starts all of them. */
void hamlet_start(hamlet *h, const hamlet_options *options);

/* Waits a little and reaps; whoever died is started again. false: nobody runs any more. */
bool hamlet_turn(hamlet *h);

/* Turns until all have ended; false: not within that time, and whoever was left is killed. */
bool hamlet_end(hamlet *h, int limit_s);

/* Kills whoever runs. */
void hamlet_fini(hamlet *h);

hamlet_task *hamlet_task_of(hamlet *h, const char *name);
void hamlet_signal(hamlet *h, const char *name, int signal);
/* Of its last life: the code, 128 + signal, or -1 while it runs. */
int hamlet_code(const hamlet_task *t);
bool hamlet_was_killed(const hamlet_task *t, int life); /* from 1, by SIGKILL */

/* How often the logs of all, or of one task, say that. */
int hamlet_says(const hamlet *h, const char *name, const char *text);
void hamlet_print_logs(const hamlet *h, int lines);
void hamlet_print_log(const char *dir, const char *name, int lines); /* of $dir/NAME.log */

/* Of the job's summary. */
typedef struct hamlet_result {
    char sha256[65];
    int64_t batches;
} hamlet_result;

bool hamlet_result_of(const char *dir, const char *job, hamlet_result *ret);

/* Runs `tequio train` with these further arguments (NULL at the end) on $dir/config.jsonnet; what
 * it says goes to $dir/NAME.log. Its code, or 124 after the limit. */
int hamlet_train(const char *dir, const char *name, const char *const *arguments, int limit_s);

/* The job that nobody disturbs, with these overrides. Where it fails, it says why, and the test is
 * over. */
hamlet_result hamlet_undisturbed(const char *dir, const char *overrides, int limit_s);

#endif
