/*
 * Tasks that hang, where no other task can say so. Only for supervise.c.
 * Threads: as supervise.h says.
 */
#ifndef TEQUIO_JOB_PROCESS_HUNG_H
#define TEQUIO_JOB_PROCESS_HUNG_H

#include "job/process/supervision.h"

/* A master that gives up for want of a peer tells all that hear. A task that has not left with it hangs, and the
 * next master would wait for it likewise: it may never have met it, and then cannot say that it hangs. */
void hung_kill_left(supervision *s);

/* Tasks that see in the job dir that the job is done leave, and then none is there to say that the master hangs.
 * Begun again, it does what was left. To be called at s->look_at_us, and when a task has ended. */
void hung_look_at_master(supervision *s);

#endif
