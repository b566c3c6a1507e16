/*
 * Listening sockets that are opened before it is told to others where they are: a port that was
 * free a moment ago may be taken now, one that is held cannot be. Threads: any.
 */
#ifndef TEQUIO_JOB_PORTS_H
#define TEQUIO_JOB_PORTS_H

#include "common/base/error.h"

/* The address a task of a local cluster listens on. */
#define PORTS_HOST "127.0.0.1"

/* Listens on PORTS_HOST:port; port 0 is the kernel's choice. *ret_fd is close-on-exec. E_CONFIG
 * when the port is in use; `task` is who needs it. */
MUST_USE status port_listen(int port, const char *task, int *ret_fd, int *ret_port, error *err);

/* The same on an address of this host, a number without brackets; NULL: on all of them. E_CONFIG
 * when the port is in use. */
MUST_USE status port_open(const char *host, int port, int *ret_fd, int *ret_port, error *err);

#endif
