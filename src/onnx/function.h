/* Calls of model-local functions, whose bodies are walked in place. Only for control.c. */
#ifndef TEQUIO_ONNX_FUNCTION_H
#define TEQUIO_ONNX_FUNCTION_H

#include "onnx/call.h"

/* Whether the node calls one; otherwise it is an operator. */
bool function_is_called(const call *c);
MUST_USE status function_walk(call *c, error *err);

#endif
