/* How deep subgraphs lie in each other, measured over a model's bytes before they are parsed: the
 * parser recurses, and a file of a few kilobytes can nest thousands of levels. Pure. */
#ifndef TEQUIO_ONNX_NESTING_H
#define TEQUIO_ONNX_NESTING_H

#include <stddef.h>

enum { ONNX_NESTING = 32 }; /* deepest subgraph */

/* Stops counting a little above ONNX_NESTING, and where the bytes are no message. */
int onnx_nesting(const void *data, size_t bytes);

#endif
