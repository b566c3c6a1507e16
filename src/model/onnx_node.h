/*
 * Where in an ONNX file a node of the built graph comes from, for messages.
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_ONNX_NODE_H
#define TEQUIO_MODEL_ONNX_NODE_H

#include "common/config/config.h"

/* "node '/fc/Div' (Div) of 'model.onnx'"; for a node of backward the one whose gradient it makes. NULL
 * where the model is no file, or the node none of its. Free it. */
char *model_onnx_node(const config *model, const char *node);

#endif
