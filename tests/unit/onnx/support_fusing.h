/* Small models whose nodes become one operator, or do not. */
#ifndef TEQUIO_TESTS_UNIT_ONNX_SUPPORT_FUSING_H
#define TEQUIO_TESTS_UNIT_ONNX_SUPPORT_FUSING_H

#include "unit/onnx/support_import.h"

/* A model with the input "x" f32 [4,6]. */
file *fusing_begin(void);

/* A constant number of the model. */
void fusing_number(file *f, const char *name, float value);

/* Imports the model, which ends at "y", into a graph of so many nodes, one of them that operator. */
imported fusing_ends_as(file *f, graph_op op, int32_t n_nodes);

void fusing_finish(file *f, imported *p);

#endif
