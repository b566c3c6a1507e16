/*
 * What a worker knows, shared by the files of this folder and by nobody else.
 * Threads: everything here belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_STATE_H
#define TEQUIO_WORKER_STATE_H

#include "common/base/log.h"
#include "common/base/wait_warning.h"
#include "common/parts/schedule.h"
#include "metric/reports.h"
#include "worker/async_lanes.h"
#include "worker/mode.h"
#include "worker/sync_driver.h"
#include "worker/variants.h"
#include "worker/worker.h"

/* A step all our slots of which, as the view has them, are on the servers. */
typedef struct delivered {
    int64_t step;                   /* -1: none */
    uint64_t view_id;
    int64_t pushing_us;             /* of the kv, until then */
    int64_t held_step, held_us;     /* the version held, since when */
    double turn_s, push_s;          /* from then on */
} delivered;

typedef struct worker {
    const worker_options *o;
    char name[TASK_NAME];
    variants variants;
    net_waker *waker;
    peers *peers;                   /* of the lanes' engines; NULL: none */
    schedule schedule;
    const worker_mode *mode;        /* by it */
    lane_shared *shared;            /* [n_shared] */
    int32_t n_shared;               /* 1: of all lanes; else one a lane */
    lane **lanes;
    kv *kv;                         /* of mode_sync, like the next */
    sync_driver *sync_driver;
    async_lanes *async_lanes;       /* of mode_async */
    reports *reports;
    buf hello;
    buf packed;                     /* the control payload being sent; kept, so that steps allocate nothing */

    net_socket *master;             /* NULL until its address is known */
    char *master_endpoint;
    const char *refused;            /* why it could not be connected to; NULL: nothing is wrong */
    wire_head identity;             /* job id, era, incarnation */
    uint64_t view_id;
    delivered delivered;            /* as it was said last */
    bool is_up;                     /* the connection to the master */
    bool master_hangs;              /* said so, and not heard since */
    bool is_refused;                /* by the master, which then need not hear why we leave */
    bool welcomed, has_view, stopped;
    int64_t master_heard_us, tick_us, stop_us, preempt_us;
    status outcome;
    error *err;
    log_pace refused_pace;          /* of what servers say */

    wait_warning master_wait;               /* its silence */
    wait_warning progress_wait;             /* since a version last became complete */
    int64_t progress_us;            /* when that was */
    int64_t looked_us;              /* when waits were last looked at */
    int64_t seen_step;
} worker;

enum { TICK_MS = 100, SECOND_US = 1000000, REACH_US = 3 * SECOND_US, LAST_WORD_MS = 1000 };

/* build.c */
MUST_USE status worker_build(worker *w, error *err);
void worker_unbuild(worker *w);
part_store *worker_store(const worker *w);      /* the server's in this process, or the host */

/* waits.c */
/* "tcp://host:port server=1 up", and why it is not; the caller frees it. */
char *worker_describe_server(const worker *w, int32_t part);
/* What a master that is heard would be doing; of another nobody knows. */
const char *worker_unless_silent(const worker *w, const char *doing);
/* Why there is no word from the master, as far as we know; NULL: we do not. */
const char *worker_master_trouble(const worker *w);
/* A wait always speaks: called every turn. */
void worker_warn_of_waits(worker *w, int64_t now);
double worker_master_silence_s(const worker *w);
/* How long it may be silent before we give up. */
double worker_master_timeout_s(const worker *w);
bool worker_master_is_silent(const worker *w); /* for heartbeat_timeout */
/* Both once a second. */
void worker_tell_hung(worker *w);
MUST_USE status worker_look_for_end(worker *w, error *err);

/* worker.c */
MUST_USE status worker_dial_master(worker *w, const char *endpoint, error *err);
/* `h`: the type, and the fields that it has of its own. */
MUST_USE status worker_say_proto(worker *w, wire_head h, const ProtobufCMessage *m, error *err);

/* reports.c */
/* One of them: REPORT. `user` is the worker. */
MUST_USE status worker_say_report(void *user, int64_t step, uint32_t slot, const ProtobufCMessage *m,
                                  error *err);
MUST_USE status worker_report_all(worker *w, error *err);   /* that are kept */

/* worker.c */
/* kv's hooks. A failure is kept and leaves the loop. */
void worker_on_welcome(void *user, int32_t server, const Wire__Welcome *m);
void worker_on_refused(void *user, int32_t server, const wire_head *h, const Wire__Refused *m);

#endif
