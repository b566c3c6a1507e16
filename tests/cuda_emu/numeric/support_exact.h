/* Operators whose results on a GPU are the CPU's bit for bit: NUMERICS.md, "On a GPU". */
#ifndef TEQUIO_TESTS_CUDA_EMU_NUMERIC_SUPPORT_EXACT_H
#define TEQUIO_TESTS_CUDA_EMU_NUMERIC_SUPPORT_EXACT_H

#include "graph/graph.h"

bool op_is_exact(graph_op op);

/* Whether all nodes that have a say in gradients are such. */
bool gradients_are_exact(const graph *g);

/* Element by element; any NaN is as good as another. Prints the first under `what` that is not. */
bool is_same(const char *what, dtype t, const void *got, const void *want, int64_t n);

#endif
