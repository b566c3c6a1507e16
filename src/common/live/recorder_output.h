/*
 * Writing out what the flight recorder holds (recording.h): when a signal asks for it or ends the process, when a wait
 * is too long, when the process gives up and when the master asks.
 *
 * The file is JOB_DIR/log/events/TASK.bin or, where this host does not see the job dir, one of that name in a folder of
 * the host's for temporary files. Files before it are TASK.1.bin (the newest) to TASK.3.bin; older ones go.
 *
 * Threads: any, and signal handlers: nothing here allocates, locks or waits. Of two that write at a time one does not.
 */
#ifndef TEQUIO_COMMON_LIVE_RECORDER_OUTPUT_H
#define TEQUIO_COMMON_LIVE_RECORDER_OUTPUT_H

#include "common/base/wait_list.h"
#include "common/live/recording.h"

enum { RECORDER_FILES = 4 };        /* of a task */

typedef struct recorder_identity {
    task task;                      /* that the process is */
    int32_t indexes[ROLE_COUNT];    /* as recording_head has them */
    bool is_trainer;
    const char *job_dir;
} recorder_identity;

/* From now on events are noted, unless the environment says TEQUIO_EVENTS=off, and SIGUSR1 and signals that end the
 * process have them written, unless somebody else, such as a sanitizer, handles those. */
void recorder_start(const recorder_identity *who);

/* When they were written last, in microseconds since 1970; 0: they were not. */
int64_t recorder_written_us(void);

/* Returns where they were written; NULL: they were not. `text` says more; "" is fine. */
const char *recorder_write(recording_reason why, const char *text);

/* The same of a wait, or where the master asks: not again within ten seconds. */
void recorder_write_wait(recording_reason why, const char *text);

/* The same where one of the waits is to be warned of; else false. */
bool recorder_write_waits(const wait_list *waits);

/* What the master has said of how often it has asked so far; zeroed before it has. */
typedef struct recorder_request {
    bool is_known;
    int64_t number;
} recorder_request;

/* It says so now: if it has asked once more, they are written. */
void recorder_take_request(recorder_request *r, int64_t number);

#endif
