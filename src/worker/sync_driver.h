/*
 * The driver of mode sync, which follows versions: which slots this worker owes, what has arrived from the
 * servers, what may go to them. It has the connections to them (a kv).
 *
 * The rules, all local:
 *  - version t is held once every part of it is here
 *  - a part's version t+1 is asked for when no slot of ours will read its version t again
 *  - notes of step t are handled, and so its nodes pushed, only once version t is held: versions of
 *    any two parts differ by at most 1 (docs/PROTOCOL.md, the lemma)
 *  - lanes that are done with step t get their slots of step t+1 at once: they read data ahead and
 *    wait for weights part by part
 *  - slots that come late are owed from the first step whose next version is not held; their step's
 *    version is pulled again where it was overwritten
 *  - whose version is gone and who owes slots begins again one version below the newest it heard
 *    of: some part may still be there. Who owes none asks for one that is still to come, so that
 *    it gets all of it however fast the steps are
 *
 * Threads: belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_SYNC_DRIVER_H
#define TEQUIO_WORKER_SYNC_DRIVER_H

#include "kv/kv.h"
#include "worker/lane_slots.h"

typedef struct sync_driver sync_driver;

/* Hears of each slot, before its last nodes are pushed. */
typedef status sync_driver_measured_fn(void *user, const note *n, error *err);

typedef struct sync_driver_options {
    const flat *flat;
    kv_options kv;              /* of its hooks welcome, refused, measured and user are called, others are the
                                 * driver's */
    lane_shared shared;
    lane *const *lanes;         /* [n_lanes] kept */
    int32_t n_lanes;
    peers *peers;               /* of the lanes' engines; NULL: each gives what it has made */
    part_store *store;          /* which has weights and gradients; NULL: the host */
    sync_driver_measured_fn *measured;
    void *user;                 /* of `measured` */
} sync_driver_options;

/* As kv_create. */
MUST_USE status sync_driver_create(const sync_driver_options *options, sync_driver **ret, error *err);
/* What is being pushed is given back: lanes may end then. */
void sync_driver_destroy(sync_driver **f);

typedef struct sync_driver_era {
    const wire_head *identity;  /* job id, era and incarnation */
    const uint32_t *acting;     /* as of kv_begin */
    steps steps;
    int64_t step, limit;        /* the version to begin with; the steps before the limit may go */
} sync_driver_era;

/* Begin (or begin again, in a new era): asks for every part of that version. */
MUST_USE status sync_driver_begin(sync_driver *f, const sync_driver_era *e, error *err);

/* E_PROTOCOL unless it has as many slots as the steps begun with. */
MUST_USE status sync_driver_own(sync_driver *f, const lane_share *share, error *err);
MUST_USE status sync_driver_limit(sync_driver *f, int64_t limit, error *err);

/* Handles what arrived from servers and lanes. Never blocks. */
MUST_USE status sync_driver_serve(sync_driver *f, error *err);

kv *sync_driver_kv(const sync_driver *f);
int64_t sync_driver_step(const sync_driver *f);         /* the version held; at first: begun with, less 1 */
bool sync_driver_is_whole(const sync_driver *f);        /* it is held completely */
/* What is missing for the next step, for messages: parts of the next version not here. */
int32_t sync_driver_missing(const sync_driver *f, int32_t *ret_first_part);
bool sync_driver_is_held_back(const sync_driver *f);    /* the limit is reached */
int64_t sync_driver_computing(const sync_driver *f);    /* the step whose slots are computed; -1: none */
/* The step all our slots of which are pushed, as the share has them; -1: none. */
int64_t sync_driver_delivered(const sync_driver *f);

#endif
