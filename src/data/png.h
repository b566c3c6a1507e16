/*
 * Writing a PNG (ISO/IEC 15948) of at most 256 colours, or of any, deflated by zlib. Any thread.
 */
#ifndef TEQUIO_DATA_PNG_H
#define TEQUIO_DATA_PNG_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdint.h>

typedef struct png_image {
    int width, height;
    const unsigned char *pixels; /* [height][width], numbers of colours, or [height][width][3]; top row first */
    const unsigned char *colors; /* [n_colors][3], red, green, blue; NULL: pixels are so themselves */
    int n_colors;
} png_image;

/* Appends the file. E_NOMEM. */
MUST_USE status png_encode(const png_image *image, buf *ret, error *err);
/* Written whole or not at all. E_IO, E_DISK. */
MUST_USE status png_write(const char *path, const png_image *image, error *err);

#endif
