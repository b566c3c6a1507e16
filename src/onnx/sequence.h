/*
 * Sequences of tensors. A graph has none: they are lists of slots while a model is imported, and
 * where their items lie is known then. Threads: one at a time.
 */
#ifndef TEQUIO_ONNX_SEQUENCE_H
#define TEQUIO_ONNX_SEQUENCE_H

#include "onnx/call.h"

/* n >= 1 items behind one another along an axis, or along a new one (0 .. rank of an item). */
MUST_USE status sequence_join(call *c, slot *items, int32_t n, int32_t axis, bool new_axis,
                              slot *ret, error *err);

#endif
