/*
 * Who hangs: is silent on an open connection, or shows no life in the job dir.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_HUNG_H
#define TEQUIO_MASTER_HUNG_H

#include <stdint.h>

typedef struct master master;

/* Once a second: a task that has been silent for hang_timeout is named. */
void master_tell_hung(master *m, int64_t now_us);

#endif
