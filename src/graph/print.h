/*
 * A readable dump of a graph, a line a value that comes from outside and a line a node:
 *
 *     input x float32 [8,1,28,28]
 *     param conv1.weight float32 [32,1,3,3] trainable, gradient conv1.ConvBwdWeights
 *     0 conv1 = Conv(x, conv1.weight, conv1.bias) -> float32 [8,32,26,26]
 *
 * An absent input or output is "-", a kept value ends in "*". Threads: a pure function.
 */
#ifndef TEQUIO_GRAPH_PRINT_H
#define TEQUIO_GRAPH_PRINT_H

#include "common/base/buf.h"
#include "graph/graph.h"

void graph_print(const graph *g, buf *out); /* appends */

#endif
