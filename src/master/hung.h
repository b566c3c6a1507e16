/*
 * Who hangs: is silent on an open connection, or shows no life in the job dir.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_HUNG_H
#define TEQUIO_MASTER_HUNG_H

#include "common/base/read_progress.h"

typedef struct master master;

/* Of the evaluator, while it is waited for. */
typedef struct evaluator_life {
    uint64_t trace;                 /* its sign, as last seen */
    int64_t seen_us;                /* when that changed, or the wait_warning began; 0: nobody waits */
    bool hangs;                     /* said so */
    bool reads;                     /* its data, by this, ... */
    read_state state;
    int64_t moved_us;               /* ...and when it last got on with that */
} evaluator_life;

/* Once a second: a task that has been silent for hang_timeout is named. */
void master_tell_hung(master *m, int64_t now_us);

#endif
