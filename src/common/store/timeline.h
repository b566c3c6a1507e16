/*
 * What happened to a job, for people: the file timeline.jsonl, a line an event, over all starts. The master alone
 * writes it. Nothing follows from it, so it is not synced, and an event that cannot be written waits in memory until it
 * can, as long as there are few; what was left out is counted in the next line that is written. The file is bounded:
 * its older half goes as it grows too large.
 *
 * Threads: belongs to its owner's; timeline_read has no shared state.
 */
#ifndef TEQUIO_COMMON_STORE_TIMELINE_H
#define TEQUIO_COMMON_STORE_TIMELINE_H

#include "common/store/jobdir.h"

#define TIMELINE_FILE "timeline.jsonl"

typedef enum timeline_kind {
    TIMELINE_START,             /* of a master */
    TIMELINE_JOIN,              /* a task came, or came back */
    TIMELINE_WHOLE,             /* a worker that came later holds a version: it gets slots */
    TIMELINE_SUSPECT,           /* a connection is gone */
    TIMELINE_LOST,              /* a worker is given up */
    TIMELINE_HUNG,
    TIMELINE_REFUSED,
    TIMELINE_RUN,               /* an era begins to train */
    TIMELINE_TURN,              /* an era without loss */
    TIMELINE_ROLLBACK,
    TIMELINE_BACKED,            /* a standby holds what it stands by for */
    TIMELINE_HEDGE,
    TIMELINE_IN_TIME,
    TIMELINE_CHECKPOINT,
    TIMELINE_CHECKPOINT_FAILED,
    TIMELINE_DAMAGED,
    TIMELINE_EVALUATION,
    TIMELINE_EARLY_STOP,
    TIMELINE_DISK,              /* the job dir takes nothing */
    TIMELINE_DISK_WELL,
    TIMELINE_PREEMPT,
    TIMELINE_END,               /* of a start */
} timeline_kind;

typedef struct timeline_event {
    timeline_kind kind;
    const char *task;           /* of whom it tells; NULL: of the job */
    const char *text;           /* a sentence's part: what stands behind "10:20:30 worker.1" */
    int64_t start, era, step;   /* of the job at that time; step -1: none is known yet */
} timeline_event;

typedef struct timeline timeline;

/* Of a job that is ours; `d` outlives it. The file is touched as the first event comes. */
timeline *timeline_begin(const jobdir *d);
void timeline_add(timeline *t, const timeline_event *e);    /* now */
void timeline_flush(timeline *t);                           /* now and then: what waits is tried again */
void timeline_end(timeline **t);                            /* also of NULL */

/* The newest events, `most` of them at most, the oldest first; a line that is none is passed over. *ret: the caller's;
 * empty where there is no such file. */
MUST_USE status timeline_read(const jobdir *d, size_t most, json_t **ret, error *err);

#endif
