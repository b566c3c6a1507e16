/*
 * The shape of a run: how many tasks, lanes and threads. Pure function of the configuration, of
 * what this machine has, and of the cluster.
 */
#ifndef TEQUIO_CLI_RUN_SHAPE_H
#define TEQUIO_CLI_RUN_SHAPE_H

#include "common/cluster/cluster.h"
#include "common/config/config.h"

typedef struct shape_host {
    int cpus;
    int gpus;               /* that nobody has named */
    bool gpus_are_own;      /* tasks beside this one on the machine have others */
    const cluster *cluster; /* that this process is a task of; NULL: of none */
} shape_host;

typedef struct shape {
    int workers, ps, evaluators; /* all 0: one process. Lanes of a cluster's chief are a worker's */
    int lanes;                   /* of each worker, or of the one process */
    int threads;                 /* of each lane */
    int readers;                 /* threads of each lane that read data ahead: as many as what computes leaves */
    int here;                    /* processes with lanes on this machine, by the names of hosts */
    double servers_here;         /* share of all servers' memory that falls on each of those, if they
                                  * share what of it this machine holds */
    int64_t batches_per_step;    /* K of a job that starts now */
} shape;

/* Without other words each of several entries of distributed.cuda_devices has a worker, and where
 * there is none a worker has its share of the GPUs, or CPUs, of its machine, which is all where it
 * is the only one there, and one process alone has the first GPU. A rank that knows its local rank has
 * one GPU, the one of that number. Workers without a server get one,
 * or two where it needs a standby. E_USAGE for servers or an evaluator without workers, and for one
 * server without another to hold its copies. */
MUST_USE status shape_of(const config *c, const shape_host *host, shape *ret, error *err);

/* Raises this process' limit of open files to the most it may have. Fails where that is too few for
 * its part of the job: a task of `k`, or where that is NULL what starts the tasks. */
MUST_USE status shape_check_descriptors(const shape *s, const cluster *k, error *err);

/* Whether the process that is the master has lanes too. */
bool shape_master_trains(const config *c);

#endif
