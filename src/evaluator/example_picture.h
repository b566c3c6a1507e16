/*
 * An example's picture, as pages show it: of its first field that holds one, a PNG of at most 96 pixels a side. Values
 * from the least to the largest of the example are told from black to white, whatever normalization they had.
 *
 * Threads: pure.
 */
#ifndef TEQUIO_EVALUATOR_EXAMPLE_PICTURE_H
#define TEQUIO_EVALUATOR_EXAMPLE_PICTURE_H

#include "common/base/buf.h"
#include "data/data.h"

#include <stdbool.h>

/* Appends "data:image/png;base64,...". False: it holds no picture, or cannot be read; nothing is appended. */
bool example_picture(const dataset *d, int64_t example, buf *ret);

#endif
