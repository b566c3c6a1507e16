/*
 * For how long no worker could go on, and for what: a figure of the master's (counters.def).
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_HOLDS_H
#define TEQUIO_MASTER_HOLDS_H

#include "common/live/counters.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct master master;

typedef struct holds {
    int64_t looked_us;
    bool holds;                     /* then somebody could not go on... */
    counter cause;                  /* ...for this */
} holds;

/* Every turn: what held them after the last one has since. */
void master_count_holds(master *m, int64_t now_us);

#endif
