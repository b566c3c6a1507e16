/* What the rules of convolutions share. Only for the files of this folder. */
#ifndef TEQUIO_GRAPH_OPS_CONV_SHAPE_H
#define TEQUIO_GRAPH_OPS_CONV_SHAPE_H

#include "graph/ops/rule.h"

#define CONV_FIELDS WINDOW_FIELDS(conv_attr), ATTR_FIELD(conv_attr, group, "group", ATTR_INT, 1)

/* x has 1 to 3 spatial axes, w as many, and the groups divide w's first axis. Completes the kernel. */
MUST_USE status conv_check_weights(const graph_node *n, const graph_shape *x, const graph_shape *w,
                                   error *err);

/* What multiplying input 0 with the weights, input 1, makes. They are of one type; or input 0 was
 * rounded to bfloat16, as the kernel then does with the weights. */
MUST_USE status conv_type(const graph *g, const graph_node *n, dtype *ret, error *err);

/* [N,C,spatial...] and [M,C/group,kernel...] to [N,M,spatial...]; resolves auto_pad. */
MUST_USE status conv_shape(const graph_node *n, const graph_shape *x, const graph_shape *w,
                           conv_attr *a, graph_shape *ret, error *err);

/* Of a convolution that makes as many elements as v has. */
double conv_flops(const graph *g, graph_val v, const graph_shape *w);

/* The bias alone needs no convolution: it is the sum over everything but the channels. */
MUST_USE status conv_bias_grad(graph *g, graph_val dy, graph_val *ret, error *err);

#endif
