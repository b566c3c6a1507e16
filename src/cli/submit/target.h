/*
 * Where `tequio submit` runs a job: one file a target, all behind the same few functions.
 *
 * A flag of submit that only one target takes stands in the group of that target.
 * Ownership: what a target keeps for a launch lives in the request's arena. Main thread only.
 */
#ifndef TEQUIO_CLI_SUBMIT_TARGET_H
#define TEQUIO_CLI_SUBMIT_TARGET_H

#include "cli/run/keys.h"
#include "cli/submit/request.h"
#include "job/process/restart.h"
#include "job/roster.h"

/* As AI Platform does: when a task was started again often enough, the whole job is, so often. */
enum { TARGET_JOB_RESTARTS = 3, TARGET_GRACE_MS = 30 * 1000, TARGET_HANG_MS = 60 * 1000 };

/* gcloud's own port for clusters on one machine; those of other tasks follow. */
enum { TARGET_FIRST_PORT = 27182 };

typedef struct launch {
    const submit_request *request;
    const args *args;
    const char *logs;      /* JOB_DIR/log, absolute */
    const char *program;   /* this one, absolute */
    keys_given given;      /* TEQUIO_KEY */
    void *own;             /* the target's, from prepare on */
} launch;

typedef struct target {
    const char *name;
    const char *group;     /* of its own flags; NULL: it has none */
    bool is_here;          /* all tasks are on this machine */
    bool begins_again;     /* the whole job, by itself */
    bool lives_on;         /* without us, after --async */
    bool keeps_files_here; /* this machine sees the job dir, under the same path */
    const char *page_way;  /* where it does not: how the page of the master's host is reached from here */
    /* Reads and checks the target's flags; NULL: there is nothing to read. */
    status (*prepare)(launch *l, error *err);
    /* Which task runs where; the caller closes it. */
    status (*plan)(const launch *l, roster *ret, error *err);
    /* What would be handed to somebody else to run, as text; NULL: nothing. */
    status (*write)(const launch *l, buf *ret, error *err);
    /* Runs the job once, to its end; the exit code, with the story of a failure in `err`. */
    int (*run)(const launch *l, error *err);
    /* A file that the master wrote, by the path that it has for tasks, is written to the file `to`, which is emptied
     * first. E_DATA: there is none; other failures may pass. NULL: this machine sees them, or nobody can. */
    status (*fetch)(const launch *l, const char *path, int to, error *err);
    /* Whether it can, for this launch, E_CONFIG; and its end. NULL: always, and there is nothing to do. */
    status (*fetch_check)(const launch *l, error *err);
    status (*fetch_end)(const launch *l, error *err);
} target;

#define TARGET_GROUP(name) "With --target " name

extern const target target_compose, target_kubernetes, target_local, target_slurm, target_ssh;

/* --- for targets --- */

/* The number of the trial of a search that this job is, CLOUD_ML_TRIAL_ID; NULL: it is none. */
const char *submit_trial(void);

roster_shape target_shape(const launch *l, int default_port);
restart_limit target_task_restarts(const launch *l);
int target_job_restarts(const launch *l);

/* The one given, or one for this job alone; wipe it. */
MUST_USE status target_choose_key(const launch *l, char text[JOBKEY_TEXT], error *err);

/* A text's words, between blanks; NULL at the end. In the arena. */
const char *const *target_words(const launch *l, const char *text);

#endif
