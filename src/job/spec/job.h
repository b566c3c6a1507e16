/*
 * A job: what a job file and flags ask for, checked and with its defaults, ready to be planned.
 *
 * The rules are AI Platform's: CUSTOM names its machines itself, the other tiers stand for some; a
 * role has a type if and only if it has tasks; machines are all of Compute Engine or all legacy
 * types; GPUs must go with their machine, be offered in the region and, of several types, in one of
 * its zones.
 *
 * Ownership: a job lives in the arena it was made in, with the tree it was made from. Threads: one
 * at a time.
 * Source: AI Platform Training's REST reference, v1 (projects.jobs), and its pages on machine
 * types.
 */
#ifndef TEQUIO_JOB_SPEC_JOB_H
#define TEQUIO_JOB_SPEC_JOB_H

#include "common/cluster/cluster.h"
#include "job/spec/document.h"
#include "job/spec/machines.h"

typedef struct job_pool {           /* the tasks of one role */
    int64_t count;
    const char *machine_type;       /* "": nothing is said */
    const machine *machine;         /* NULL: not in our tables */
    int gpu_type;                   /* -1: none */
    int64_t gpus;                   /* of each task */
    const char *image;              /* NULL: none */
    const char *const *args;        /* of `tequio train`, NULL at the end */
    const doc_node *blame;          /* where its type or GPUs stand; NULL: nowhere */
} job_pool;

typedef struct job {
    const char *id;                 /* NULL: not named yet */
    const char *tier;               /* "CUSTOM", ... */
    bool is_of_vertex;              /* it was a CustomJob */
    job_pool pools[ROLE_COUNT];
    const char *region;             /* these three: NULL where nothing is said */
    const char *job_dir;
    const char *service_account;
    bool calls_chief;               /* the primary is "chief" in TF_CONFIG, otherwise "master" */
    double max_running_s;           /* 0: no limit */
    int64_t priority;
    bool is_scaled;                 /* --scale-down: its machines are those one has, so TPUs are no others */
    bool is_tried_once;             /* neither its tasks nor the job are started again */
    const doc_node *labels;         /* NULL: none */
    const struct search *search;    /* what its trials are to find (search.h); NULL: it is no search */
    const char **environment;       /* [n_environment]: "NAME=VALUE", of every task */
    int n_environment;
    const char **warnings;          /* for people, in the order of what they are about */
    int n_warnings, cap_warnings;
    arena *memory;                  /* where it lives */
} job;

/* The most tasks a job may have, all roles together. */
enum { JOB_TASKS_MOST = 65536 };

int64_t job_tasks(const job *j);
int64_t job_gpus(const job *j);

/* Fewer tasks of the same roles: "1x2x1" is the master, 2 workers, 1 server; a fourth number is
 * evaluators. No role gets more than it had, and none of those that had tasks loses all.
 * E_USAGE. */
MUST_USE status job_scale_down(job *j, const char *shape, error *err);

/* A schema_warn; `user` is the job. */
struct field;
void job_warn_ignored(void *user, const doc_node *node, const struct field *f);

/* For messages about the rules of jobs; the text is copied. */
void job_warn(job *j, arena *memory, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
