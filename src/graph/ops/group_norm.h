/* What GroupNormalization and InstanceNormalization share: a group of channels of one sample has
 * its own mean and deviation. Only for the files of this folder. */
#ifndef TEQUIO_GRAPH_OPS_GROUP_NORM_H
#define TEQUIO_GRAPH_OPS_GROUP_NORM_H

#include "graph/ops/rule.h"
#include "graph/schema.h"

/* x scale bias -> y, mean [N,groups], 1 / deviation [N,groups] */
MUST_USE status group_norm_infer(const graph *g, const graph_node *n, graph_shape *ret_shape,
                                 dtype *ret_dtype, error *err);
MUST_USE status group_norm_grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                                graph_val *ret_din, error *err);

#endif
