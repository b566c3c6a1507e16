/*
 * A lane: one compute device (or group of CPU threads) that turns batches into gradients.
 *
 * The lane's thread builds its own engine and loader, then computes the slots it is given: fills
 * the inputs, runs forward and backward, hands each part's gradient to the reducer as soon as it is
 * ready, and posts notes. It waits for weights part by part.
 *
 * Threads: lane_create, lane_give, lane_cancel and lane_destroy belong to the worker's thread.
 */
#ifndef TEQUIO_WORKER_LANE_H
#define TEQUIO_WORKER_LANE_H

#include "common/parts/steps.h"
#include "data/data.h"
#include "exec/exec.h"
#include "exec/resident.h"
#include "worker/lane_notes.h"
#include "worker/lane_reducer.h"
#include "worker/weights_view.h"

typedef struct lane lane;
typedef struct lane_metrics lane_metrics;   /* lane_metrics.h */

/* What a lane has in common with the worker's thread, and with others that follow the same versions. */
typedef struct lane_shared {
    weight_store *store;            /* where weights live; unless the lane moves them */
    weights_view *weights;
    lane_notes *notes;
} lane_shared;

typedef struct lane_options {
    int32_t index;
    const char *task;               /* for log lines; kept */
    const backend_ops *backend;
    backend_options device;
    const flat *flat;
    const graph *const *graphs;     /* variants, one a shape of batches */
    const batch_shape *shapes;      /* of the variants; [0] is the largest */
    size_t n_graphs;
    uint8_t sum_level;              /* training_sum_level, of all lanes that are known */
    size_t budget;                  /* training_memory */
    loader_options loader;
    lane_shared shared;
    loss_scale_rule scaling;
    const config *model;            /* the section, for messages; or NULL */
    lane_metrics *metrics;          /* that it counts, the lane's from now on; NULL: none */
    bool watches;                   /* a NaN in a gradient ends the job: nobody takes it out */
    peers *peers;                   /* that its engine joins, as number `index`; NULL: none */
    resident *resident;             /* opened if the device has room for what the only server keeps; NULL: no */
    size_t server_slots;            /* the optimizer's states of a weight there */
} lane_options;

enum { LANE_AHEAD = 2 };

typedef struct lane_next {
    step_slot batch;                /* n == 0: nothing */
    float weight;
} lane_next;

typedef struct lane_slot {
    int64_t step;
    uint32_t slot, n_slots;         /* of the step */
    tree_node sum;                  /* of this slot and others that come next to it, all this lane's */
    reduce_group *with;             /* of the last of those: what their sum is added to; NULL: nothing */
    step_slot batch;
    float weight;                   /* the slot's share of the step's examples */
    bool last;                      /* the lane's last slot of the step: its gradients stay in place */
    int64_t free_us;                /* since when all lanes of the worker had been done with what was before it */
    lane_next next[LANE_AHEAD];     /* what most likely follows: read ahead, and on a device the first
                                     * is sent there while this one is computed */
} lane_slot;

/* Starts the thread and returns when its engine stands (or failed to). Options are copied. */
MUST_USE status lane_create(const lane_options *options, lane **ret, error *err);
/* Cancels and waits for the thread, and for borrowed spans: end the reducer and kv first. */
void lane_destroy(lane **l);

/* The engine needs this before the first slot; once. */
void lane_set_reducer(lane *l, lane_reducer *g);

void lane_give(lane *l, const lane_slot *slot);
/* A batch that will be given soon, for the loader. */
void lane_read_ahead(lane *l, const step_slot *batch);

/* Drops what was given; returns when the lane is idle. */
void lane_cancel(lane *l);

/* What the bits depend on. */
void lane_fingerprint(const lane *l, char *ret, size_t bytes);

#endif
