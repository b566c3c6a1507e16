/*
 * The job dir, when it does not take what is to be written: that is waited for.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_DISK_H
#define TEQUIO_MASTER_DISK_H

#include "common/base/backoff.h"
#include "common/base/error.h"
#include "common/base/wait_warning.h"

typedef struct master master;

typedef struct disk_wait {
    int64_t since_us;               /* 0: all is well */
    backoff again;                  /* when it is tried next */
    wait_warning spoken;
    bool failed;                    /* since that try began */
    bool owes_start;                /* this start could not be counted yet */
    const char *owes_turn;          /* why an era is due that could not begin; NULL: none is... */
    int32_t owes_turn_of;           /* ...and whose doing that is, as of master_turn */
    bool pauses;                    /* too much waits in memory: workers are held */
    char why[ERROR_TEXT];
} disk_wait;

/* How a write into the job dir went: what may pass is noted and tried again (OK), until it has lasted for
 * trainer.disk_timeout; anything else is returned. */
MUST_USE status master_disk(master *m, status st, const error *why, error *err);
bool master_disk_is_well(const master *m);
void master_disk_took(master *m);               /* a checkpoint: what else waits is tried at once */

/* disk_retry.c: now and then, what waits is tried again. E_DISK: that took too long. */
MUST_USE status master_watch_disk(master *m, int64_t now_us, error *err);

#endif
