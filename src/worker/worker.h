/*
 * The worker: lanes that compute gradients, and one thread that moves them.
 *
 * It builds the model, says hello to the servers and the master, declares the flat vector, and
 * from then on follows versions: pull version t of every part, compute the slots the view gives it,
 * push tree nodes part by part while backward still runs, pull version t+1, report metrics.
 *
 * Threads: worker_run is the worker's thread; each lane has one of its own.
 */
#ifndef TEQUIO_WORKER_WORKER_H
#define TEQUIO_WORKER_WORKER_H

#include "backend/registry.h"
#include "common/cluster/cluster.h"
#include "common/config/config.h"
#include "common/net/net.h"

#include <stdatomic.h>

typedef struct worker_options {
    const config *config;
    task self;
    bool trainer;                       /* the lanes of the master's own process */
    net *net;
    const char *master;                 /* endpoint; NULL: the servers will tell */
    const char *const *servers;         /* endpoints, in the order of the cluster */
    int32_t n_servers;
    int32_t first_server;               /* the first one's index in the cluster */
    double servers_here;                /* share of all servers' memory that is to fit on this host
                                         * beside this worker (worker/memory.h) */
    int32_t n_workers;                  /* of the cluster; 0: not known */
    int32_t n_lanes;                    /* >= 1 */
    int32_t n_readers;                  /* threads of each lane that read data ahead */
    const backend_choice *devices;      /* [n_lanes]: where each computes, all of one kind */
    struct resident *resident;          /* of the only lane, with the only server in this process, in mode sync:
                                         * opened if there is room; NULL: no */
    const char *job_dir;                /* where the end of the job may be read; NULL: nowhere */
    const atomic_bool *stop;            /* SIGTERM: ask the master for a cut, leave when told */
    const atomic_bool *abort;           /* leave at once; NULL: never */
} worker_options;

/* Returns when the master says stop (OK, E_PREEMPTED or its failure), or with our own failure. */
MUST_USE status worker_run(const worker_options *options, error *err);

#endif
