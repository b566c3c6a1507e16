/*
 * What LSTM, GRU and RNN share. All have the same places for their operands, so that one shape rule
 * and one gradient rule serve them; places that a cell does not have stay empty.
 *
 * S steps, B examples, I inputs, H hidden, D directions, G gates (LSTM 4: i o f c, GRU 3: z r h,
 * RNN 1), as ONNX with layout 0 says. Only for the files of this folder.
 */
#ifndef TEQUIO_GRAPH_OPS_RECURRENT_H
#define TEQUIO_GRAPH_OPS_RECURRENT_H

#include "graph/ops/rule.h"

MUST_USE status recurrent_infer(const graph *g, const graph_node *n, graph_shape *ret_shape,
                                dtype *ret_dtype, error *err);
MUST_USE status recurrent_grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                               graph_val *ret_din, error *err);
MUST_USE status recurrent_infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                                    dtype *ret_dtype, error *err);
double recurrent_flops(const graph *g, const graph_node *n);
double recurrent_flops_bwd(const graph *g, const graph_node *n);

#endif
