/*
 * The trackers of a job, in the process that is its master: a thread each, which reads the job dir and sends what
 * is new every two seconds. Nothing waits for them until the job is over, and then for a while; what they could not
 * send is said, and stays to be sent (`tequio track`). A tracker that cannot work is warned of, and the job goes on
 * without.
 *
 * Threads: started and ended by the process's main thread.
 */
#ifndef TEQUIO_CLI_ROLES_TRACKING_H
#define TEQUIO_CLI_ROLES_TRACKING_H

#include "common/config/config.h"
#include "common/store/jobdir.h"

typedef struct tracking tracking;

/* Both stay until it has ended. `is_done`: the job was before. NULL: it has no trackers. */
tracking *tracking_start(const config *c, const jobdir *dir, bool is_done);
/* The job has ended so, and all its files are written. */
void tracking_end(tracking **t, status how);

#endif
