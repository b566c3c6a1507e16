/*
 * Subgraphs of a node (a branch, the body of a loop), walked in a scope of their own, which sees
 * that of the node. Only for control.c, branch.c and loop.c.
 */
#ifndef TEQUIO_ONNX_BODY_H
#define TEQUIO_ONNX_BODY_H

#include "onnx/call.h"

/* E_DATA if the node has none of that name. */
MUST_USE status body_find(call *c, const char *attribute, const Onnx__GraphProto **ret,
                          error *err);

/* What names inside begin with: those of the node, and of its iteration where there are several. */
const char *body_prefix(const call *c);
const char *body_prefix_of_turn(const call *c, int64_t turn);

/* Initializers, then the nodes that the outputs from the `first` on need. Inputs of the body are in
 * the scope already. */
MUST_USE status body_walk(call *c, const Onnx__GraphProto *g, scope *inner, size_t first,
                          error *err);
/* What became of an output of a body that was walked; E_DATA if nothing made it. */
MUST_USE status body_result(const scope *inner, const char *name, const slot **ret, error *err);

/* The call is refused: a message for the user, and outputs that nothing reads. */
status body_refuse(call *c, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
