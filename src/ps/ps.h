/*
 * The parameter server: holds parts, sums slots, applies updates, answers pulls, writes shards.
 *
 * It learns everything from the master's Setup; before that it only answers hellos (and relays the
 * master's address to workers that do not know it). It dials nobody but its standbys.
 *
 * Threads: ps_run is one thread with its sockets, and helpers for its arithmetic
 * (distributed.ps_threads in all); checkpoints have a writer thread of their own.
 */
#ifndef TEQUIO_PS_PS_H
#define TEQUIO_PS_PS_H

#include "common/cluster/cluster.h"
#include "common/config/config.h"
#include "common/net/net.h"

#include <stdatomic.h>

typedef struct ps_options {
    const config *config;
    task self;
    const char *chief;              /* the master's address as our cluster names it; NULL: not known */
    net *net;
    const char *const *endpoints;
    size_t n_endpoints;
    int listen_fd;                  /* -1, or a listening socket for the tcp endpoint */
    const char *job_dir;
    bool starts_over;               /* a job in there that is done is not ours */
    struct part_store *store;       /* of the only worker, in this process: for the parts, if it is open when
                                     * they are loaded. NULL: none */
    const atomic_bool *stop;        /* SIGTERM: ask the master for a cut, leave when told */
    const atomic_bool *abort;       /* leave at once; NULL: never */
} ps_options;

/* Returns when the master says stop (OK, E_PREEMPTED or its failure), or with our own failure. */
MUST_USE status ps_run(const ps_options *options, error *err);

#endif
