/*
 * What a worker is made of, for the files of this folder and nobody else.
 *
 * Threads: everything here belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_STATE_H
#define TEQUIO_WORKER_STATE_H

#include "common/base/log.h"
#include "common/parts/schedule.h"
#include "metric/reports.h"
#include "worker/async_lanes.h"
#include "worker/lanes.h"
#include "worker/master_link.h"
#include "worker/mode.h"
#include "worker/variants.h"
#include "worker/waits.h"
#include "worker/worker.h"

typedef struct worker_ending {
    bool stopped;                   /* by the master, or as the job dir says */
    status outcome;                 /* how, or the first failure of a hook */
    error *err;
    int64_t stop_us;                /* when we were asked to leave */
    int64_t preempt_us;             /* when PREEMPT was last said */
} worker_ending;

struct worker {
    const worker_options *o;
    char name[TASK_NAME];
    uint64_t life;                  /* of this process, in every hello */
    variants variants;
    buf files;                      /* what decides the result beside the configuration, as facts */
    schedule schedule;
    part_store *store;              /* the server's in this process, or the host */
    net_waker *waker;
    master_link master;
    bool has_view;
    uint64_t view_id;
    worker_lanes lanes;
    const worker_mode *mode;        /* by the schedule */
    sync_mode sync;                 /* of mode_sync */
    async_lanes *async_lanes;       /* of mode_async */
    reports *reports;
    worker_waits waits;
    worker_ending ending;
    int64_t tick_us, said_status_us;
    int64_t said_status_held;       /* and which version was held then */
    log_pace refused_pace;          /* of what servers say */
};

enum { TICK_MS = 100, SECOND_US = 1000000, REACH_US = 3 * SECOND_US, LAST_WORD_MS = 1000 };

/* build.c */
MUST_USE status worker_build(worker *w, error *err);
void worker_unbuild(worker *w);

/* worker.c: the master's words that end a worker, at whatever it is. */
void worker_take_stop(worker *w, const Wire__Stop *m);
MUST_USE status worker_take_refused(worker *w, const Wire__Refused *m, error *err);

/* status.c: to the master, now and then. */
MUST_USE status worker_say_status(worker *w, int64_t now, error *err);

/* servers.c: kv's hooks. A failure is kept and leaves the loop. */
void worker_on_welcome(void *user, int32_t server, const Wire__Welcome *m);
void worker_on_refused(void *user, int32_t server, const wire_head *h, const Wire__Refused *m);

#endif
