/*
 * The chain rule over a list of nodes, from the last to the first, for backward.c and sam.c alone.
 *
 * `needs` marks what depends on a trainable parameter; nothing else is ever asked of a gradient
 * rule, so the first layer of a net makes no gradient for the data. `total` holds, per value, the sum
 * of what its readers have sent back so far; since readers come later in the list, it is complete when
 * the walk reaches the value's own node.
 *
 * Threads: as graph.h.
 */
#ifndef TEQUIO_GRAPH_CHAIN_H
#define TEQUIO_GRAPH_CHAIN_H

#include "common/base/buf.h"
#include "graph/internal.h"

typedef struct value_range {
    graph_val begin, end;
} value_range;

typedef struct chain {
    graph *g;
    int32_t n_nodes, n_values; /* that were there at the beginning */
    graph_val weight;          /* as a scalar */
    bool *needs;               /* [n_values] */
    graph_val *total;          /* [n_values] */
    graph_val *dout, *din;     /* of the node at hand */
    bool *want;
    buf refusals;
    int32_t n_refusals;
} chain;

/* No gradient goes through values of `constant`. chain_fini. */
void chain_init(chain *c, graph *g, value_range constant);
void chain_fini(chain *c);

/* E_CONFIG unless each is one float32 and the graph has no gradients yet. */
MUST_USE status chain_check_ends(const graph *g, graph_val loss, graph_val weight, error *err);
/* What the loss sends back: `weight`. */
MUST_USE status chain_begin(chain *c, graph_val loss, graph_val weight, error *err);
/* Sends the gradients of a node's outputs to its inputs, or notes that it cannot. */
MUST_USE status chain_pass(chain *c, int32_t node, error *err);
/* E_UNSUPPORTED with all that was noted. */
MUST_USE status chain_refusals(const chain *c, error *err);

/* Takes away of the nodes from `first_node` on what does not lead to a marked value, of the values from
 * `first_value` on those that nobody reads then, and closes the gaps. live[g->n_values] is overwritten; ret_to of
 * as many says what each value has become. Names are found after graph_reindex. */
void graph_drop_dead(graph *g, int32_t first_node, graph_val first_value, bool *live, graph_val *ret_to);

#endif
