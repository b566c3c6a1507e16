/*
 * What happens to the job, told to people (common/store/timeline.h) beside the log: by whom, in which era and at which
 * step. Never fails, and nobody waits for it.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_TELL_H
#define TEQUIO_MASTER_TELL_H

#include "common/base/error.h"
#include "common/store/timeline.h"

typedef struct master master;

/* Of a start that has been counted. `who`: the task of which it tells; NULL: the job. */
void master_tell(const master *m, timeline_kind kind, const char *who, const char *format, ...) PRINTF_LIKE(4, 5);
/* Epochs were judged since `before`, the step of the last one that was. */
void master_tell_judged(const master *m, int64_t before);
/* How this start ended. */
void master_tell_end(const master *m, status st, const char *text);

#endif
