/*
 * The sweeper: frees the room of pruned checkpoints in a thread of its own. Many file systems take
 * long to free large files, and the whole cluster would wait for the master meanwhile.
 *
 * Threads: what is called here belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_CUTS_SWEEPER_H
#define TEQUIO_MASTER_CUTS_SWEEPER_H

#include "common/store/jobdir.h"

typedef struct sweeper sweeper;

/* The job dir is kept by reference. */
sweeper *sweeper_create(const jobdir *d);
/* Waits until what was set aside is removed. */
void sweeper_destroy(sweeper **s);

/* Something was set aside. */
void sweeper_go(sweeper *s);

#endif
