/*
 * Nodes that hold others: calls of model-local functions (function.h), and
 * those with subgraphs (branch.h, loop.h). Only for walk.c.
 */
#ifndef TEQUIO_ONNX_CONTROL_H
#define TEQUIO_ONNX_CONTROL_H

#include "onnx/call.h"

/* How the node's function is carried out, NULL if it is an operator. */
translate_fn *control_function(const call *c);

/* How a node with subgraphs is carried out, NULL if it is another. */
translate_fn *control_of(const Onnx__NodeProto *n);

#endif
