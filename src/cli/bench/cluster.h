/*
 * One measurement of `bench net`: server and worker processes, and a master that keeps to a script.
 *
 * The servers run ps_run, as in a job; they are set up by the caller's process, which says hello,
 * hands out the declaration, shows signs of life and in the end says stop. Processes are forked
 * without exec and die with the caller.
 *
 * Call it while the process has one thread.
 */
#ifndef TEQUIO_CLI_BENCH_CLUSTER_H
#define TEQUIO_CLI_BENCH_CLUSTER_H

#include "cli/bench/load.h"

typedef struct bench_speed {
    double gbit_per_s;               /* of values, both directions added */
    double server_cpus, worker_cpus; /* cores kept busy by all processes of a kind */
} bench_speed;

/* `job_dir` is one that jobdir_prepare made. */
MUST_USE status bench_cluster_measure(const bench_request *r, const char *job_dir, bench_speed *ret,
                                      error *err);

#endif
