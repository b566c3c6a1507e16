/*
 * The exec of a lane, and where its weights live: on the host; where its device computes apart, there,
 * resident with what the server keeps (exec/resident.h) if that is wanted and there is room, or else
 * uploaded.
 *
 * Threads: the lane's, before it computes.
 */
#ifndef TEQUIO_WORKER_LANE_EXEC_H
#define TEQUIO_WORKER_LANE_EXEC_H

#include "worker/lane.h"

/* The log says which of a resident that is wanted. What there is of it after a failure is in
 * *ret. */
MUST_USE status lane_exec_build(const lane_options *o, exec **ret, error *err);
/* All of the lane stands: from now on the exec is there for others. */
MUST_USE status lane_exec_begin(const lane_options *o, exec *e, error *err);

#endif
