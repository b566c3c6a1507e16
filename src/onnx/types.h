/*
 * Element types of a node's results, where a graph has none of the file's type: which they are
 * follows from the schema, and what is held in a wider type is brought into the range of its own.
 * Only for walk.c and import.c. Threads: as the importer.
 */
#ifndef TEQUIO_ONNX_TYPES_H
#define TEQUIO_ONNX_TYPES_H

#include "onnx/call.h"

/* Of all that the call has returned. E_UNSUPPORTED for uint64 that depends on data. */
MUST_USE status types_settle(call *c, error *err);

/* A value of the graph of integers wrapped to a narrower type. */
MUST_USE status types_wrap(importer *im, const onnx_element *e, graph_val *v, error *err);

#endif
