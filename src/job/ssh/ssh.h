/*
 * A job on hosts that are reached by ssh: each task is a child of ours (process/supervise.h) that
 * is an ssh client, and on the other side `tequio task` (remote.h).
 *
 * This program is put on every host where it is not yet, below ~/.cache/tequio and by its hash,
 * over the same ssh. Hosts are asked all at once; one that does not answer is named. Nothing else
 * is put there: configuration, key and environment go over the connection and stay in memory. Data
 * must be on the hosts, under the same paths.
 *
 * Threads: as process/supervise.h says.
 */
#ifndef TEQUIO_JOB_SSH_SSH_H
#define TEQUIO_JOB_SSH_SSH_H

#include "job/process/restart.h"
#include "job/roster.h"
#include "job/ssh/hosts.h"

/* The client where none is given: it asks nobody, and gives up. */
#define SSH_CLIENT "ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=10"

typedef struct ssh_options {
    const job *job;
    hosts *hosts;
    const char *const *client;          /* ssh and its options, NULL at the end */
    roster_shape shape;                 /* ports follow one another, hosts apart or not */
    const char *const *arguments;       /* of every task, REMOTE_CONFIG where the configuration is */
    const char *const *arguments_again; /* of one that is started again */
    const char *config;                 /* text */
    const char *key;                    /* TEQUIO_KEY of the tasks; NULL: none */
    const char *log_dir;                /* on this host; must be there */
    restart_limit restarts;
    int64_t limit_ms, grace_ms;         /* as process/supervise.h has them */
} ssh_options;

/* Which task runs where; free the places [tasks], roster_close the tasks. E_CONFIG. */
MUST_USE status ssh_plan(const ssh_options *o, roster *ret, hosts_place **ret_places, error *err);

/* Runs it to its end; the exit code, as supervise() has it. */
int ssh_run(const ssh_options *o, error *err);

#endif
