/*
 * Who waits for whom, and for what, by what tasks have written of themselves: a wait-for graph, and at its ends those
 * that wait for nobody and are waited for.
 *
 * A lane waits for a part of a server; the server for slots of a step, whose lanes may wait for parts themselves; and
 * so on until somebody computes, updates, writes, evaluates, has died, or has left nothing to tell.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_CLI_LOOK_WAIT_GRAPH_H
#define TEQUIO_CLI_LOOK_WAIT_GRAPH_H

#include "cli/look/recordings.h"

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
} wait_graph;

void wait_graph_make(const recordings *of, const json_t *live, wait_graph *ret);
void wait_graph_fini(wait_graph *g);

#endif
