/*
 * A job as services of Docker Compose: the file that says so.
 *
 * One service a task, `worker-1`, which is also its host for the others, in a network of their own;
 * so all listen on the same port. All see the job dir, and the data they read, under the paths of
 * this machine. The key is a secret of the file's, by its path. Where the machine has fewer GPUs
 * than the job asks for, those tasks share what there is; where it has none nobody gets any.
 *
 * The file says nothing of restarts: Compose's own would start a task again that ended for good, or
 * that left because it was asked to, and not one that `docker kill` ended. Who runs the file
 * (containers.h) knows exit codes.
 *
 * Pure functions.
 * Source: the Compose Specification (https://github.com/compose-spec/compose-spec), as far as
 * docker-compose 1.29 and `docker compose` both know it.
 */
#ifndef TEQUIO_JOB_DOCKER_COMPOSE_H
#define TEQUIO_JOB_DOCKER_COMPOSE_H

#include "common/base/buf.h"
#include "job/roster.h"
#include "job/spec/job.h"

typedef struct compose_options {
    const job *job;                 /* whose pools may name images and GPUs */
    roster_shape shape;             /* start_port is everybody's */
    const char *image;              /* of pools that name none */
    const char *const *arguments;   /* of every task; NULL at the end, as of all lists here */
    const char *const *environment; /* NAME=VALUE, likewise */
    const char *const *reads;       /* folders, absolute */
    const char *const *libraries;   /* folders with NVIDIA's, absolute; for the image above */
    const char *folder;             /* the tasks' working directory, absolute */
    const char *job_dir;            /* absolute; must be there when they start */
    const char *key_file;           /* NULL: none */
    int gpus;                       /* of the machine */
    unsigned user, group;           /* whose tasks they are, so that what they write is the user's */
} compose_options;

/* Names and places of the tasks: hosts are names of services, GPUs are dealt. The names live in `memory`;
 * roster_close it. */
void compose_plan(const compose_options *o, arena *memory, roster *ret);

/* `tasks` as planned. */
void compose_file(const compose_options *o, roster *tasks, buf *ret);

#endif
