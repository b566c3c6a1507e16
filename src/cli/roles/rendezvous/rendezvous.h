/*
 * Where ranks find each other before they are a cluster.
 *
 * A launcher tells a rank its number and at most one address, so nobody knows where the others
 * listen. Each opens a port of the kernel's choice, keeps it, and says HELLO with its address to
 * rank 0, which answers all with the addresses of all (WELCOME) once the last has come. From then
 * on they are a cluster like any other. Rank 0 goes on answering: a rank that was started again
 * takes up the port it had.
 *
 * The connections are the job's own (net.h): with its key they are encrypted.
 *
 * Threads: one calls; rank 0's has a thread of its own, from the meeting to rendezvous_end.
 */
#ifndef TEQUIO_CLI_ROLES_RENDEZVOUS_RENDEZVOUS_H
#define TEQUIO_CLI_ROLES_RENDEZVOUS_RENDEZVOUS_H

#include "common/cluster/cluster.h"
#include "common/config/config.h"
#include "common/net/net.h"

#include <stdatomic.h>

typedef struct rendezvous_options {     /* kept by reference until rendezvous_end */
    const config *config;
    const cluster *cluster;             /* of ranks */
    net *net;                           /* with its key, if it encrypts */
    bool encrypts;
    const atomic_bool *stop;
} rendezvous_options;

/* What came of it. */
typedef struct rendezvous {
    const cluster *cluster;             /* the same with all addresses; NULL: the job is done */
    const char *listen;                 /* "tcp://host:port" of this rank */
    int listen_fd;                      /* it listens there; its taker closes it */
} rendezvous;

/* Waits for all ranks, at most distributed.start_timeout (E_LOST). E_CONFIG where ranks do not fit
 * together, E_PREEMPTED at *stop. */
MUST_USE status rendezvous_meet(const rendezvous_options *o, rendezvous **ret, error *err);
void rendezvous_end(rendezvous **v);

/* For rank 0 of a job that is done already (`why` is OK), or that it cannot begin: tells the
 * others, which then end as it does. It waits for them as for a meeting, but briefly where it
 * failed. */
MUST_USE status rendezvous_dismiss(const rendezvous_options *o, status why, const char *text,
                                   error *err);

#endif
