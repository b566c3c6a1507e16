/* IDX files for tests: written byte by byte, independently of the reader. */
#ifndef TEQUIO_TESTS_UNIT_DATA_SUPPORT_IDX_H
#define TEQUIO_TESTS_UNIT_DATA_SUPPORT_IDX_H

#include "common/base/buf.h"

#include <stdint.h>

/* Appends the header of an IDX file. */
void idx_header(buf *b, int type, int rank, const uint32_t *dims);
/* Appends `bytes` bytes of x, most significant first. */
void idx_big_endian(buf *b, uint64_t x, int bytes);
/* Compresses in place as gzip does. */
void idx_gzip(buf *b);

/* Writes dir/name and returns its path; the caller frees it. */
char *test_file(const char *dir, const char *name, const buf *b);

/* dir/t-images-idx3-ubyte (n images of h x w, pixel = (i * 7 + place) % 256) and
 * dir/t-labels-idx1-ubyte (i % 10). Returns the images' path. */
char *test_pair(const char *dir, uint32_t n, uint32_t h, uint32_t w);

#endif
