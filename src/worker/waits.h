/*
 * How long a worker waits, for whom, and when it says so or gives up.
 *
 * Threads: belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_WAITS_H
#define TEQUIO_WORKER_WAITS_H

#include "common/base/error.h"
#include "common/base/wait_list.h"
#include "common/base/wait_warning.h"
#include "common/cluster/cluster.h"
#include "common/live/recorder_output.h"

typedef struct worker worker;

typedef struct worker_waits {
    wait_warning master;            /* its silence */
    wait_warning progress;          /* since a version last became complete */
    int64_t progress_us;            /* when that was */
    int64_t seen_step;
    int64_t looked_us;              /* when waits were last looked at */
    recorder_request asked;         /* for events, by the master */
} worker_waits;

/* "tcp://host:port server=1 up", and why it is not; the caller frees it. */
char *worker_describe_server(const worker *w, int32_t part);
const char *worker_name_server(const worker *w, int32_t part, char ret[TASK_NAME]);     /* "ps.1" */
/* What a master that is heard would be doing; of another nobody knows. */
const char *worker_unless_silent(const worker *w, const char *doing);
/* A wait always speaks: called every turn. */
void worker_warn_of_waits(worker *w, int64_t now);
/* What it waits for now; nothing of what has just begun. */
void worker_list_waits(const worker *w, int64_t now, wait_list *ret);
bool worker_master_is_silent(const worker *w);  /* for heartbeat_timeout */

/* All once a second. */
void worker_tell_hung(worker *w);
MUST_USE status worker_look_for_end(worker *w, error *err);
/* E_LOST: the master has been silent for too long. */
MUST_USE status worker_check_lost(const worker *w, error *err);

#endif
