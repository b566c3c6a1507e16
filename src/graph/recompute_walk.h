/*
 * The step as it runs when some values are dropped: which nodes stand in it once more, where, and how many bytes
 * live at each. For recompute.c, which chooses; recompute_graph.c makes the graph. Threads: one at a time.
 */
#ifndef TEQUIO_GRAPH_RECOMPUTE_WALK_H
#define TEQUIO_GRAPH_RECOMPUTE_WALK_H

#include "graph/recompute.h"

/* A node, or its copy. */
typedef struct recompute_step {
    int32_t node;
    bool again;
} recompute_step;

typedef struct recompute_walk {
    const graph *g;
    const plan_options *plan;
    int32_t n_values, n_nodes, n_forward;
    size_t *bytes;          /* [n_values] in SLAB_TEMP; 0: elsewhere, or in no memory */
    graph_val *source;      /* [n_nodes] the value whose bytes its output shows; GRAPH_NONE: its own */
    graph_val *shows;       /* [n_values] whose bytes it has in the end; mostly its own */
    bool *can_drop;         /* [n_values], as are the next two, of those that show themselves */
    bool *is_needed;        /* by backward, of g as it is */
    bool *dropped;          /* backward reads a copy, and so do copies; whoever chooses sets it */
    int32_t *place;         /* [n_nodes] before which node there is what this one reads of copies */
    double *moved;          /* [n_nodes] bytes that it reads and writes; of a view 0 */
    /* What recompute_walk_take fills: */
    bool *again;            /* [n_nodes] */
    recompute_step *steps;  /* [2 * n_nodes] */
    int32_t n_steps;
    int32_t *first, *last;  /* [2 * n_values], steps; the second half is of copies */
    int32_t *owner;         /* [2 * n_values] whose bytes are used */
    int32_t *over, *under;  /* [2 * n_nodes] values of a step that could run in place; GRAPH_NONE */
    int64_t *change;        /* [2 * n_nodes + 2] of the bytes alive, at a step */
    int32_t *stack, *found; /* [n_nodes] */
    double cost;            /* of what is computed again */
    double excess;          /* bytes above the target, summed over all steps */
    size_t most;            /* bytes alive */
} recompute_walk;

/* Nothing is dropped but what backward does not read. */
void recompute_walk_init(recompute_walk *w, const graph *g, const recompute_options *o);
void recompute_walk_fini(recompute_walk *w);

/* The steps, and what they cost and take. */
void recompute_walk_take(recompute_walk *w, size_t target);

/* Whether a node of backward, or a copy, reads a copy in place of v. */
bool recompute_reads_copy(const recompute_walk *w, graph_val v);

/* The graph of the steps; recompute_graph.c. */
MUST_USE status recompute_graph(const recompute_walk *w, graph **ret, error *err);

#endif
