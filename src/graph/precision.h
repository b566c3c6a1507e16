/*
 * Precision: in which type matmuls are computed.
 *
 * With PRECISION_BF16 and PRECISION_F16 the operands of Gemm, MatMul, Attention and Conv are
 * rounded to bfloat16 or float16 and their products added up in float32; everything else,
 * parameters and gradients too, stays float32. A value is rounded once, by a node in front of its
 * first reader, and what only matmuls read is kept for backward in half the memory; so is what
 * Relu's gradient reads. Weights are rounded anew in backward; those of a convolution whenever its
 * kernel lays them out.
 *
 * PRECISION_TF32 adds no node: a backend whose device multiplies TF32 may round float32 operands to
 * it, of all matmuls, recurrent layers' too; on any other they are float32's. Threads: as graph.h.
 */
#ifndef TEQUIO_GRAPH_PRECISION_H
#define TEQUIO_GRAPH_PRECISION_H

#include "graph/graph.h"

/* Before graph_backward, whose nodes then follow. Indices of values stay, those of nodes do not. On
 * failure the graph is spoilt. */
MUST_USE status graph_set_precision(graph *g, graph_precision precision, error *err);
/* What was set; PRECISION_F32 before. */
graph_precision graph_precision_of(const graph *g);

/* A permission: a backend may round gradients of convolutions' weights to the type of the factors, where
 * that is a half, as it makes them. */
void graph_allow_half_weight_gradients(graph *g);
bool graph_has_half_weight_gradients(const graph *g);

/* A permission: a backend may drop probabilities of attention by a library's random numbers, which are other
 * ones than backend/drop.h's, the same in both directions and at every run. */
void graph_allow_library_dropout(graph *g);
bool graph_has_library_dropout(const graph *g);

#endif
