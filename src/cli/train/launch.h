/*
 * `tequio train` of a local cluster: starts a process for each task of the job. Also what that has in common
 * with a process that has the roles itself. Only for the files of this folder. Threads: the main one.
 */
#ifndef TEQUIO_CLI_TRAIN_LAUNCH_H
#define TEQUIO_CLI_TRAIN_LAUNCH_H

#include "cli/cloud/folders.h"
#include "cli/line/command.h"
#include "cli/roles/faults.h"
#include "cli/run/devices.h"
#include "cli/run/keys.h"
#include "cli/run/page_beside.h"
#include "cli/run/shape.h"
#include "common/cluster/cluster.h"
#include "common/config/config.h"
#include "common/live/trace.h"
#include "common/store/jobdir.h"
#include "job/progress.h"

/* What the command line, the environment and the configuration come to. */
typedef struct train_job {
    const args *args;
    const char *path, *job_dir;
    cloud_folders folders;
    jobdir_rule rule;
    progress_mode progress;
    trace_window traced;            /* distributed.profile; empty: none */
    cluster *cluster;
    config *config;
    devices devices;
    shape shape;
    keys_given given;
    process_faults faults;
    page_beside page;
} train_job;

/* Whether the job goes on, or begins anew, with what is in its dir. */
bool train_recovers(const train_job *j);
bool train_forces(const train_job *j);

/* --recover=step-500, with zeros in front or without. False: no step is named. */
bool train_chooses_step(const args *a, int64_t *ret);

/* Hands over and prints what the job made. */
MUST_USE status train_finish(const train_job *j, error *err);

/* Starts all tasks and waits for their end; the exit code. */
int train_launch(train_job *j, error *err);

#endif
