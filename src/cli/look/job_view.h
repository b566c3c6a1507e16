/*
 * A job dir as documents, each call anew: what `tequio status` prints and a page shows.
 *
 * Threads: functions without shared state.
 */
#ifndef TEQUIO_CLI_LOOK_JOB_VIEW_H
#define TEQUIO_CLI_LOOK_JOB_VIEW_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* E_DATA, which says so, unless a job lies at `path`. */
MUST_USE status job_view_check(const char *path, error *err);

typedef struct job_view {
    json_t *job;            /* what inspect_look_job finds; "warnings": the last ones of the master's log;
                             * "timeline": the newest events (common/store/timeline.h), but for checkpoints and
                             * evaluations, which are many; "live_trouble": why live.json is none, if it is */
    json_t *live;           /* what the master told last (common/store/live_file.h); NULL: nothing */
} job_view;

MUST_USE status job_view_open(const char *path, job_view *ret, error *err);
void job_view_close(job_view *v);
bool job_view_runs(const job_view *v);
json_t *job_view_json(const job_view *v);   /* {"job": ..., "live": ...}; the caller's */

/* A file that grows: its whole lines from byte `from` on, JOB_LINES_MOST bytes at most. The file of tag `tag` may be
 * gone, or cut back as the job went back: another one is told from its beginning. A file that is not there is empty. */
enum { JOB_LINES_MOST = 4 << 20 };

typedef struct job_lines {
    char tag[48];           /* of the file that is there */
    int64_t from, next;     /* bytes: where `text` begins, and where what follows will */
    buf text;
} job_lines;

MUST_USE status job_view_lines(const char *path, const char *name, const char *tag, int64_t from, job_lines *ret,
                               error *err);
void job_lines_fini(job_lines *l);

/* The tasks that have a log, sorted: ["master.0", ...]. The caller's. */
MUST_USE status job_view_tasks(const char *path, json_t **ret, error *err);
/* The last `bytes` of the log of a task among those, from the beginning of a line on. E_DATA: there is none. */
MUST_USE status job_view_log(const char *path, const char *task, long bytes, buf *ret, error *err);

#endif
