/*
 * How long each node takes: by the host's clock where a kernel is done when it returns, by a stopwatch of
 * the device around each kernel where it computes apart. Nodes that one kernel does together count at the
 * node at whose turn it runs.
 * Threads: as exec.h says.
 */
#ifndef TEQUIO_EXEC_NODE_TIMES_H
#define TEQUIO_EXEC_NODE_TIMES_H

#include "backend/backend.h"

typedef struct node_times node_times;

/* Of n nodes; `kernels` and the device must stay. */
MUST_USE status node_times_create(const backend_ops *ops, backend *device, const backend_kernel *kernels,
                                  int32_t n, node_times **ret, error *err);
void node_times_destroy(node_times **t);

/* Runs a node's kernel, which there is. */
MUST_USE status node_times_run(node_times *t, int32_t node, void *const *addresses, void *workspace,
                               error *err);
/* Behind a run that has ended. */
MUST_USE status node_times_read(node_times *t, error *err);
/* The same on a device, of a node with a kernel: when it began and ended, in milliseconds since that stopwatch
 * was started. */
MUST_USE status node_times_since(const node_times *t, int32_t node, const backend_stopwatch *since,
                                 double *ret_begin_ms, double *ret_end_ms, error *err);

/* [n] milliseconds, of the run that was read last; 0 of nodes without a kernel. */
const double *node_times_ms(const node_times *t);

#endif
