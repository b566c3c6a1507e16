/*
 * The plan: a pure function from a graph to slabs and offsets. Nothing is allocated after it.
 *
 * Slabs: PARAM (the flat vector; offsets are the flat's), GRAD (the same order and offsets, live
 * range only), IO (inputs and kept values), TEMP (everything else, live intervals packed greedily,
 * largest first at the lowest free offset, 256-byte aligned; an OP_INPLACE or OP_ADDS output takes
 * its input's place when that dies there; a parameter's gradient gives its own place to the input),
 * CONST. One workspace of the largest kernel's size is the executor's business.
 *
 * A value with elements whose bytes the backend gives as 0 is never materialised (fused away); unless
 * the backend says when nodes run, its maker and its readers then count as one kernel that may run at
 * any of their turns. One without
 * elements has a place of 0 bytes. An OP_ALIAS output shares
 * its input's place and prolongs its life, unless it is kept, a gradient, or of another size: then
 * its kernel must copy, as for no_alias.
 *
 * Threads: immutable once created.
 */
#ifndef TEQUIO_GRAPH_PLAN_H
#define TEQUIO_GRAPH_PLAN_H

#include "graph/graph.h"

enum { PLAN_ALIGN = 256 };

typedef enum plan_slab {
    SLAB_PARAM,
    SLAB_GRAD,
    SLAB_IO,
    SLAB_TEMP,
    SLAB_CONST,
    SLAB_COUNT
} plan_slab;

typedef struct plan_place {
    plan_slab slab;
    size_t offset, bytes;
    int32_t first, last;        /* nodes: defined at (-1: before the run), last used at; of the owner
                                 * by whatever shares its place (n_nodes: kept, a gradient) */
    bool materialised;
} plan_place;

typedef struct plan_options {
    const size_t *value_bytes;  /* [graph_n_values] as the backend wants them; NULL: row-major */
    const int32_t *runs_at;     /* [graph_n_nodes] or NULL: at which node's turn, its own or a later one,
                                 * its work is done; NULL: its own, of fused ones any */
    const bool *no_inplace;     /* [graph_n_nodes] or NULL: its kernel cannot run in place */
    const bool *no_alias;       /* [graph_n_nodes] or NULL: an OP_ALIAS that must copy (layouts) */
    const graph_val *same_as;   /* [graph_n_values] or NULL: an earlier value that this temporary equals, of as
                                 * many bytes, which it shares: its node does nothing; or GRAPH_NONE */
    const flat *flat;           /* layout of parameters and gradients; NULL: none in the graph */
} plan_options;

typedef struct plan plan;

/* E_CONFIG if a parameter is not in the flat vector or stands there with another shape. */
MUST_USE status plan_create(const graph *g, const plan_options *options, plan **ret, error *err);
void plan_destroy(plan **p);

const plan_place *plan_place_of(const plan *p, graph_val v);
size_t plan_slab_bytes(const plan *p, plan_slab slab);
graph_val plan_aliased(const plan *p, graph_val v);     /* whose memory v uses; mostly its own */

/*
 * Per part of options.flat (index of the node; -1 for a part nothing reads or makes):
 * ready_after  the last node that makes one of its gradients or reads one of its weights: then the
 *              part may be sent, and later overwritten
 * need_before  the first node that reads one of its weights
 */
int32_t plan_part_ready_after(const plan *p, int32_t part);
int32_t plan_part_need_before(const plan *p, int32_t part);

#endif
