/*
 * What GatherElements, GatherND, ScatterElements and ScatterND share: whether indices fit what they
 * index, and the gradients of scattering. Only for the files of this folder.
 * Threads: pure functions, apart from the attributes a rule completes.
 */
#ifndef TEQUIO_GRAPH_OPS_INDEX_H
#define TEQUIO_GRAPH_OPS_INDEX_H

#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

/* The shape of what is picked from input 0 by the indices, input 1. */
typedef status index_rule(const graph *g, const graph_node *n, graph_shape *ret, error *err);

/* Indices of the rank of input 0, each a place along attr->axis; one element each. */
MUST_USE status index_elements(const graph *g, const graph_node *n, graph_shape *ret, error *err);

/* Indices [batch..., any..., k]: k places along the axes after attr->batch_dims; a slice each. */
MUST_USE status index_nd(const graph *g, const graph_node *n, graph_shape *ret, error *err);

/* The rule of data, indices, updates -> y. */
MUST_USE status index_infer_scatter(const graph *g, const graph_node *n, index_rule *picked,
                                    graph_shape *ret_shape, dtype *ret_dtype, error *err);

/* Gradients: of a gather by the scatter that undoes it, and of a scatter by both. */
MUST_USE status index_grad_gather(graph *g, int32_t node, graph_op scatter, const graph_val *dout,
                                  graph_val *ret_din, error *err);
MUST_USE status index_grad_scatter(graph *g, int32_t node, graph_op gather, const graph_val *dout,
                                   const bool *want_din, graph_val *ret_din, error *err);

#endif
