/*
 * What gradient rules share: appending the nodes of a gradient tersely. A function that needs no
 * node (a sum to the same shape, a scale of 1) gives its input back. Only for the graph floor.
 */
#ifndef TEQUIO_GRAPH_OPS_EMIT_H
#define TEQUIO_GRAPH_OPS_EMIT_H

#include "graph/attrs.h"
#include "graph/graph.h"

/* One node, output 0. `attr` as in graph_add. */
MUST_USE status emit_1(graph *g, graph_op op, graph_val a, const void *attr, graph_val *ret,
                       error *err);
MUST_USE status emit_2(graph *g, graph_op op, graph_val a, graph_val b, const void *attr,
                       graph_val *ret, error *err);

MUST_USE status emit_3(graph *g, graph_op op, graph_val a, graph_val b, graph_val c,
                       const void *attr, graph_val *ret, error *err);

/* One node whose output i is the gradient of input i, with the attributes of d's node. */
MUST_USE status emit_gradients(const graph_gradient *d, graph_op op, const graph_val *in, int32_t n_in,
                               error *err);

/* What a gradient operator reads of the node it belongs to. */
#define DY(i)  (0x40 | (i))     /* the gradient of output i */
#define X(i)   (0x80 | (i))     /* input i */
#define Y(i)   (0xc0 | (i))     /* output i */

/* A gradient rule: that one node is of the operator's `bwd`. Through an output whose gradient it does
 * not read none flows (E_UNSUPPORTED). */
MUST_USE status emit_backward(const graph_gradient *d, error *err);
#define READS(ID, ...)    .bwd = {OP_##ID, {__VA_ARGS__}}
#define BACKWARD(ID, ...) .grad = emit_backward, READS(ID, __VA_ARGS__)

/* A gradient rule: that node of dy and output 0, of which the sign is enough: a rounded copy that products
 * read does, and has half the bytes. */
MUST_USE status emit_by_sign(const graph_gradient *d, error *err);

/* Gradient rules: dy as it is; in the shape of input 0; and zeros. */
MUST_USE status emit_same(const graph_gradient *d, error *err);
MUST_USE status emit_reshaped(const graph_gradient *d, error *err);
MUST_USE status emit_nothing(const graph_gradient *d, error *err);

/* The gradient of input i, which was broadcast: the sum of v to its shape. */
MUST_USE status emit_to_input(const graph_gradient *d, int32_t i, graph_val v, error *err);

MUST_USE status emit_number(graph *g, float number, graph_val *ret, error *err); /* a scalar */
MUST_USE status emit_zero(graph *g, const graph_shape *shape, graph_val *ret, error *err);
MUST_USE status emit_scale(graph *g, graph_val v, float factor, graph_val *ret, error *err);
MUST_USE status emit_reshape(graph *g, graph_val v, const graph_shape *shape, graph_val *ret,
                             error *err);
/* undoes broadcasting from `shape` */
MUST_USE status emit_sum_to(graph *g, graph_val v, const graph_shape *shape, graph_val *ret,
                            error *err);

/* v as it is multiplied with `factor`: rounded to a half type if that one is */
MUST_USE status emit_factor(graph *g, graph_val v, graph_val factor, graph_val *ret, error *err);

/* A factor for a product of backward. What is quick to make again is made again, by the same
 * operator and so with the same bits, and need not live from forward to backward: a rounded
 * parameter, and an element-wise function whose gradient keeps the function's input anyway.
 * `is_trained`: such a gradient will follow. */
MUST_USE status emit_factor_again(graph *g, graph_val factor, bool is_trained, graph_val *ret,
                                  error *err);

graph_shape emit_shape_of(const graph *g, graph_val v); /* a copy: adding nodes moves values */

#endif
