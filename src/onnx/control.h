/*
 * Nodes that hold others: calls of model-local functions, whose bodies are walked in place, and
 * those with subgraphs (branch.h, loop.h). Only for walk.c.
 */
#ifndef TEQUIO_ONNX_CONTROL_H
#define TEQUIO_ONNX_CONTROL_H

#include "onnx/call.h"

/* The function that a node calls, NULL if it is an operator. */
const Onnx__FunctionProto *control_function(const onnx_model *m, const Onnx__NodeProto *n);
MUST_USE status control_call(call *c, const Onnx__FunctionProto *f, error *err);

/* How a node with subgraphs is carried out, NULL if it is another. */
translate_fn *control_of(const Onnx__NodeProto *n);

#endif
