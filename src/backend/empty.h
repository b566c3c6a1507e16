/*
 * Nodes that have an operand without elements and make elements all the same. Most operators' own
 * loops say what comes of it: a product is of zeros, a concatenation of what the others have, a
 * gradient stays the base. Here are those whose kernels want something to lay out or to divide by:
 * their outputs are known when the graph is loaded. A sum of nothing is 0, a product 1, a largest
 * -infinity or the least integer, as ONNX has it; a mean of nothing, and what is made of it, NaN.
 * Pure functions.
 */
#ifndef TEQUIO_BACKEND_EMPTY_H
#define TEQUIO_BACKEND_EMPTY_H

#include "graph/graph.h"

enum { EMPTY_OUT = 4 };

/* What all elements of the outputs are; false if no operand lacks elements, or the operator's own
 * kernel knows. */
bool empty_values(const graph *g, const graph_node *n, double ret[EMPTY_OUT]);

#endif
