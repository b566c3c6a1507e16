/*
 * The tasks of a job as containers of Docker: Compose makes them from a file (compose.h), and each
 * is a child of ours (process/supervise.h) that is a docker client, attached to its container. So
 * what a container prints and how it ends is known here, signals reach it, and it is started again
 * as any task is, the same one.
 *
 * Containers and network are gone when this returns, and also if this process is killed
 * (process/exit_hook.h).
 *
 * Needs the commands docker and `docker compose` or docker-compose. Threads: as process/supervise.h
 * says.
 * Source: docker start, docker ps, docker compose up
 * (https://docs.docker.com/reference/cli/docker).
 */
#ifndef TEQUIO_JOB_DOCKER_CONTAINERS_H
#define TEQUIO_JOB_DOCKER_CONTAINERS_H

#include "job/process/restart.h"
#include "job/roster.h"

typedef struct containers_options {
    const roster *tasks; /* hosts are the names of the file's services */
    const char *file;    /* docker-compose.yml */
    const char *project; /* a name that no other job has */
    const char *log_dir; /* must be there; compose.log goes there too */
    restart_limit restarts;
    int64_t limit_ms, grace_ms; /* as process/supervise.h has them */
} containers_options;

/* E_FAIL in docker's words if there is none, or it does not answer. */
MUST_USE status containers_check(error *err);

/* Runs it to its end; the exit code, as supervise() has it. What Docker's tools refuse is E_FAIL in
 * their words. */
int containers_run(const containers_options *o, error *err);

#endif
