/*
 * Maintenance of the machine, as Compute Engine announces it to those who ask: that the machine
 * will be ended for maintenance of its host (an hour ahead where it has GPUs), or was preempted
 * (half a minute ahead). Then this does what SIGTERM does. A machine that is moved while it runs
 * needs nothing.
 *
 * What was announced before the task began is not acted upon: a job that made its checkpoint and
 * was started again on the same machine trains on until that ends.
 *
 * A server that does not answer, or not as it should, is warned of once and asked again; the
 * training does not mind. Threads: one of its own, which waits nearly always; the main one calls.
 */
#ifndef TEQUIO_CLI_CLOUD_MAINTENANCE_H
#define TEQUIO_CLI_CLOUD_MAINTENANCE_H

#include "common/base/error.h"

#include <stdatomic.h>

typedef struct maintenance maintenance;

/* Sets *stop when maintenance is announced; before other threads are started. E_CONFIG as
 * metadata_open. */
MUST_USE status maintenance_watch(atomic_bool *stop, maintenance **ret, error *err);
void maintenance_end(maintenance **m); /* *m may be NULL */

#endif
