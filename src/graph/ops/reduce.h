/* What ReduceMean and ReduceSum share: one shape rule, and gradients that spread the sum back. */
#ifndef TEQUIO_GRAPH_OPS_REDUCE_H
#define TEQUIO_GRAPH_OPS_REDUCE_H

#include "graph/graph.h"

MUST_USE status reduce_infer(const graph *g, const graph_node *n, graph_shape *ret_shape,
                             dtype *ret_dtype, error *err);

/* Each element of the input receives `dy` times 1, or times 1 / count for a mean. */
MUST_USE status reduce_spread(graph *g, int32_t node, graph_val dy, bool mean, graph_val *ret,
                              error *err);

#endif
