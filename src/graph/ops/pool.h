/* The shape rule of windowed pooling, shared by the two pools and their gradients. Pure. */
#ifndef TEQUIO_GRAPH_OPS_POOL_H
#define TEQUIO_GRAPH_OPS_POOL_H

#include "graph/ops/rule.h"

/* Completes the node's attributes and gives the pooled shape of x. */
MUST_USE status pool_shape(const graph_node *n, const graph_shape *x, graph_shape *ret, error *err);

#endif
