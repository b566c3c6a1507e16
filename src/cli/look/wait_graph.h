/*
 * Who waits for whom, and for what, by what tasks have written of themselves: a wait-for graph, and at its ends those
 * that wait for nobody and are waited for.
 *
 * A lane waits for a part of a server; the server for slots of a step, whose lanes may wait for parts themselves; and
 * so on until somebody computes, updates, writes, evaluates, has died, or has left nothing to tell. In the modes ssp
 * and async a part waits for batches below a floor, and lanes have those by lease.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_CLI_LOOK_WAIT_GRAPH_H
#define TEQUIO_CLI_LOOK_WAIT_GRAPH_H

#include "cli/look/recorded_leases.h"

typedef enum graph_wait_kind {
    GRAPH_PART,         /* for a version of a part */
    GRAPH_SLOT,         /* for the gradient of a slot */
    GRAPH_REPORT,       /* for what was measured of a slot */
    GRAPH_COPY,         /* for a standby to have a version of a part too */
    GRAPH_VERDICT,      /* for the vote on a step */
    GRAPH_NORM,         /* for the norm of a part, which the vote takes */
    GRAPH_LIMIT,        /* for leave to go on behind a version */
    GRAPH_SHARD,        /* for a shard of a checkpoint */
    GRAPH_EVALUATION,   /* for an evaluation */
    /* modes ssp and async, where `step` is a batch */
    GRAPH_WEIGHTS,      /* for the weights of a part to compute the batch at */
    GRAPH_GRADIENT,     /* for the batch's gradient of a part */
    GRAPH_TAKEN,        /* for a part's gradient to be taken */
    GRAPH_MEASURED,     /* for what was measured of the batch */
    GRAPH_FLOOR,        /* for batches below, and it is not known which and whose */
    GRAPH_LEASE,        /* for a batch to compute */
} graph_wait_kind;

typedef struct graph_wait {
    graph_wait_kind kind;
    int from, lane, to;             /* tasks; lane -1: the task itself; to -1: nobody knows whose it is */
    int64_t step;                   /* or version */
    int32_t part, slot;             /* -1: none */
    int64_t age_us;
} graph_wait;

enum { GRAPH_WORDS = 256 };

/* At an end of the graph: what the task does, or what is known of it, as "computes slot 3 of step 41". */
typedef struct graph_end {
    int task;
    char words[GRAPH_WORDS];
    int64_t age_us;                 /* -1: not known */
    size_t n_waiters;               /* tasks that wait for it, directly or by others */
} graph_end;

typedef struct wait_graph {
    const recordings *of;
    graph_wait *waits;
    size_t n_waits;
    graph_end *ends;                /* whom most wait for first, and of those who is longest at it */
    size_t n_ends;
    int depth;                      /* of what is followed at the moment */
    bool awaits_evaluation;         /* the master does, as it has told */
    bool is_leased;                 /* modes ssp and async */
    recorded_lease *leases;         /* [n_leases], lowest batch first */
    size_t n_leases;
} wait_graph;

void wait_graph_make(const recordings *of, const json_t *live, wait_graph *ret);
void wait_graph_fini(wait_graph *g);

#endif
