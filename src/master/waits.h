/*
 * How long the master waits, for whom, and when it says so or gives up.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_WAITS_H
#define TEQUIO_MASTER_WAITS_H

#include "common/base/error.h"
#include "common/base/wait_list.h"
#include "common/base/wait_warning.h"

typedef struct master master;

typedef struct master_waits {
    int64_t begun_us, progress_us, drain_us; /* when we started; something moved; nothing was left to train */
    unsigned spoken_of;             /* the phase in which `warning` was given */
    wait_warning warning;
    int64_t asked;                  /* how often tasks were asked for their events... */
    int64_t asked_us;               /* ...and when, the last time */
} master_waits;

/* For whom a step, or its end, waits. */
void master_list_step_waits(const master *m, double waited, wait_list *ret);
/* For whom the job waits now; nothing of what has just begun. */
void master_list_waits(const master *m, int64_t now_us, wait_list *ret);
void master_warn_of_waits(master *m, int64_t now_us);
/* Something is wrong: all tasks are to write what they did last (common/live/recorder_output.h), as our next sign of
 * life tells them; not again within ten seconds. Ours are for the caller to write. */
void master_ask_events(master *m, int64_t now_us);
/* E_LOST names who has been awaited for too long. */
MUST_USE status master_check_lost(master *m, int64_t now_us, error *err);

#endif
