/*
 * A process of a cluster: its roles, composed from the cluster's description.
 *
 *   no cluster           master, one server, one worker and an evaluator, over inproc
 *   chief or master      master; lanes of its own unless distributed.master_trains is false
 *   worker               worker; as worker 0 of a cluster without chief it is the master too; in a
 *                        cluster without servers every worker but the chief hosts one behind its port
 *   ps, evaluator        just that
 *
 * Without an evaluator in the cluster the master's process evaluates at epoch ends, in a thread.
 * Roles never include each other; they meet here and in messages only.
 *
 * Threads: the caller's thread runs the first role, the others get one each; all have ended when
 * process_run returns.
 */
#ifndef TEQUIO_CLI_ROLES_PROCESS_H
#define TEQUIO_CLI_ROLES_PROCESS_H

#include "cli/run/devices.h"
#include "cli/run/keys.h"
#include "common/cluster/cluster.h"
#include "common/config/config.h"
#include "common/store/jobdir.h"
#include "job/progress.h"

#include <stdatomic.h>

struct process_faults;

typedef struct process_options {
    const config *config;
    const cluster *cluster;
    const char *job_dir;
    const char *events_dir;         /* for event files; NULL: the job dir */
    const devices *devices;         /* looked for if process_computes */
    int lanes;                      /* if this task is a worker */
    int32_t readers;                /* likewise, of each lane */
    double servers_here;            /* likewise (shape.h) */
    const keys_given *given;
    jobdir_rule rule;               /* applied by the process that is the master */
    bool recover, force;
    bool chooses;                   /* back to the checkpoint of `step` */
    int64_t step;
    const atomic_bool *stop;
    progress_mode progress;
    struct process_faults *faults;           /* what shall go wrong; NULL: nothing */
} process_options;

/* Whether the task has lanes or evaluates. */
bool process_computes(const config *c, const cluster *k);

MUST_USE status process_run(const process_options *options, error *err);

/* Says that the holder of a job dir is watched for signs of life (jobdir_request.watching). */
void process_watching(const char *holder);

#endif
