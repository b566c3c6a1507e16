/*
 * A worker's mode: how its lanes come by weights and work, by the job's schedule. In order all lanes follow
 * the versions of one set of weights (mode_sync.c, over sync_driver.h); otherwise each has its own and
 * computes what is leased to it (mode_async.c, over async_lanes.h).
 *
 * Threads: belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_MODE_H
#define TEQUIO_WORKER_MODE_H

#include "common/base/wait_list.h"
#include "kv/kv.h"
#include "worker/sync_driver.h"

struct worker;

/* Of a step, all our slots of which, as the view has them, are on the servers. */
typedef struct sync_delivered {
    int64_t step;                   /* -1: none */
    uint64_t view_id;
    int64_t pushing_us;             /* of the kv, until then */
    int64_t held_step, held_us;     /* the version held, since when */
    double turn_s, push_s;          /* from then on */
} sync_delivered;

/* What mode_sync has. */
typedef struct sync_mode {
    sync_driver *driver;
    sync_delivered delivered;       /* as it was said last */
} sync_mode;

/* What may be NULL is so marked: then there is nothing to do. */
typedef struct worker_mode {
    /* Over the servers that are named: of their hooks welcome, refused and user are set. */
    MUST_USE status (*build)(struct worker *w, const kv_options *servers, error *err);
    void (*unbuild)(struct worker *w);      /* what was built of it; lanes may end then */

    /* The first view of an era, whose steps are `s`. */
    MUST_USE status (*begin)(struct worker *w, const Wire__View *m, const steps *s, error *err);
    /* Every view, the first one too. May be NULL, like the two that follow. */
    MUST_USE status (*view)(struct worker *w, const lane_share *share, int64_t limit, error *err);
    MUST_USE status (*limit)(struct worker *w, int64_t limit, error *err);
    MUST_USE status (*lease)(struct worker *w, const wire_head *h, error *err);
    /* The master has the reports of all steps before that of `h`. May be NULL. */
    MUST_USE status (*recorded)(struct worker *w, const wire_head *h, error *err);

    MUST_USE status (*serve)(struct worker *w, error *err);         /* what servers and lanes say */
    MUST_USE status (*tick)(struct worker *w, error *err);          /* once a second */
    /* Says what of a step is on the servers where there is news; again: what the master may have missed too.
     * May be NULL. */
    MUST_USE status (*say_delivered)(struct worker *w, bool again, error *err);

    net_socket *const *(*sockets)(const struct worker *w);          /* [n_servers * n_shared] to poll */
    kv *(*kv)(const struct worker *w);      /* of the servers: names, who is up; any of several */

    int64_t (*held)(const struct worker *w);        /* the version held completely; -1: none, or nobody asks */
    int64_t (*computing)(const struct worker *w);   /* the step whose slots are computed; -1: none,
                                                     * or the like */
    bool (*rests)(const struct worker *w);  /* the limit is reached; NULL: there is none */
    /* A number that changes with every step or batch done. *ret_busy: a lane computes, and does not wait. */
    int64_t (*progress)(const struct worker *w, bool *ret_busy);
    void (*list_waits)(const struct worker *w, double waited, wait_list *ret);      /* for what the lanes wait */
    void (*describe)(const struct worker *w, int32_t server, kv_link *ret);         /* connections to a server */
} worker_mode;

extern const worker_mode mode_sync, mode_async;

#endif
