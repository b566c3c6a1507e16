/*
 * From the addresses of a cluster to endpoints: where a task listens and where it dials.
 *
 * Listening: distributed.bind if given, else the address of the cluster if it is this host's, else
 * every address. Off the loopback interface a role refuses to listen in the clear unless
 * distributed.security says "off" (cli/run/keys.h decides what is encrypted).
 *
 * Threads: any; may block in name resolution.
 */
#ifndef TEQUIO_CLI_ROLES_ENDPOINTS_H
#define TEQUIO_CLI_ROLES_ENDPOINTS_H

#include "common/cluster/cluster.h"
#include "common/config/config.h"

#include <stdatomic.h>

/* "tcp://host:port" to listen at for `t`, or for a host (without brackets) and a port; the caller
 * frees it. E_CONFIG. */
MUST_USE status endpoint_listen(const config *config, const cluster *c, task t, bool encrypts,
                                char **ret, error *err);
MUST_USE status endpoint_listen_at(const config *config, const char *host, int port, bool encrypts,
                                   char **ret, error *err);

/* "tcp://host:port", or as net.h has it for a name, to dial `t`, or a host that messages call `name`;
 * waits until it resolves, at most distributed.start_timeout. E_CONFIG names task and host;
 * E_PREEMPTED at *stop. */
MUST_USE status endpoint_dial(const config *config, const cluster *c, task t, const atomic_bool *stop,
                              char **ret, error *err);
MUST_USE status endpoint_dial_at(const config *config, const char *name, const char *host, int port,
                                 const atomic_bool *stop, char **ret, error *err);

/* The address, a number without brackets, by which this host is known to that one. E_CONFIG, E_IO. */
MUST_USE status endpoint_own_host(const char *host, char *ret, size_t bytes, error *err);

#endif
