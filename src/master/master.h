/*
 * The master: the only authority on who is a member, who owns which slots, which era it is, when
 * checkpoints are cut and when the job is over.
 *
 * It never sees a weight. It dials every server, listens for workers, and only reads what an
 * evaluator leaves in the job dir.
 *
 * Threads: master_run is one thread. The progress callback runs on it.
 */
#ifndef TEQUIO_MASTER_MASTER_H
#define TEQUIO_MASTER_MASTER_H

#include "common/cluster/cluster.h"
#include "common/config/config.h"
#include "common/net/net.h"
#include "common/store/jobdir.h"

#include <stdatomic.h>

typedef struct master_progress {
    int64_t step, total_steps;
    int64_t epoch, epochs;              /* epoch: the one under way, from 0 */
    double loss, accuracy, rate;        /* NaN when unknown */
    double examples_per_s, eta_s;
} master_progress;

typedef struct master_options {
    const config *config;
    net *net;
    const char *const *endpoints;       /* to listen on */
    size_t n_endpoints;
    int listen_fd;                      /* -1, or a listening socket for the tcp endpoint */
    const char *relay_address;          /* "host:port" servers tell workers; NULL: they know */
    const char *const *servers;         /* endpoints to dial */
    int32_t n_servers;
    int32_t first_server;               /* the first one's index in the cluster */
    jobdir *dir;
    int32_t n_workers;                  /* workers to wait for at the first start, trainer included;
                                         * 0: not known, one is enough */
    const char *files;                  /* what this process reads of the model (common/store/facts.h);
                                         * NULL: nothing */
    bool evaluates;                     /* an evaluator will read the checkpoints */
    const atomic_bool *stop;            /* SIGTERM: cut and leave with E_PREEMPTED */
    const atomic_bool *abort;           /* leave at once; NULL: never */
    void (*progress)(void *user, const master_progress *p);
    void *user;
} master_options;

/* The job was done before: says so, for distributed.end_timeout at most, to all that the cluster names
 * besides (n_workers: without those of our own process). */
MUST_USE status master_dismiss(const master_options *options, error *err);

/* Returns OK when the job is done, E_PREEMPTED after a cut, or the first failure of any task. */
MUST_USE status master_run(const master_options *options, error *err);

#endif
