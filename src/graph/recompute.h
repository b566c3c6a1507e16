/*
 * Recomputation, also called gradient checkpointing: values of forward that backward reads are not kept until
 * then but made once more, right before backward first reads them, so that less memory is taken between.
 *
 *     Chen, Xu, Zhang, Guestrin: Training Deep Nets with Sublinear Memory Cost, 2016
 *     Jain and others: Checkmate, Breaking the Memory Wall with Optimal Tensor Rematerialization, 2020
 *
 * From a graph with backward another one is made, in which some nodes of forward stand a second time, among
 * those of backward. Nodes are pure functions of their inputs, random ones of a stream in their attributes: so
 * the copy makes the bits of the original, and what a node tells once, a batch's mean and variance for the moving
 * ones, is still read once. Every node is computed twice at most, so the cost is less than a second forward.
 *
 * What is dropped is chosen greedily: with the bytes above the target, summed over the run of the step, as
 * measure, each time what lowers it most for what it costs; at last what was not needed after all is kept again.
 * Costs are counted in bytes, read and written, with FLOPs on top.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_GRAPH_RECOMPUTE_H
#define TEQUIO_GRAPH_RECOMPUTE_H

#include "graph/plan.h"

typedef struct recompute_options {
    const plan_options *plan;   /* of the graph as it is */
    const bool *fixed;          /* [graph_n_nodes] or NULL: nodes that are not computed again */
    size_t temp;                /* bytes that SLAB_TEMP shall have at most */
} recompute_options;

typedef struct recompute_cost {
    int32_t n_nodes;            /* computed again; views do not count */
    double flops, moved;        /* of these: FLOPs (graph_node_flops), bytes read and written */
    double forward_flops, forward_moved; /* of all of forward */
    size_t temp;                /* most bytes alive at a time: the plan takes as many, or some more between them */
} recompute_cost;

/* The graph in which so much is computed again that `temp` is met; or, where that cannot be, less than now as far
 * as the choice got: ret_cost->temp says so. Values of g keep their numbers, and those of forward their nodes.
 * Names, attributes and constants stay g's, which must outlive it. */
MUST_USE status graph_recompute(const graph *g, const recompute_options *o, graph **ret, recompute_cost *ret_cost,
                                error *err);

/* The target for which a choice was found that takes least; o->temp does not count. */
size_t graph_recompute_least(const graph *g, const recompute_options *o);

#endif
