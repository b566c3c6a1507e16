/* See support_idx.h. */
#include "unit/data/support_idx.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

void idx_big_endian(buf *b, uint64_t x, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        unsigned char byte = (unsigned char)(x >> (8 * i));
        buf_add(b, &byte, 1);
    }
}

void idx_header(buf *b, int type, int rank, const uint32_t *dims)
{
    idx_big_endian(b, (uint64_t)type << 8 | (uint64_t)rank, 4);
    for (int i = 0; i < rank; i++)
        idx_big_endian(b, dims[i], 4);
}

void idx_gzip(buf *b)
{
    z_stream z = {0};
    if (deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    buf out = BUF_INIT;
    buf_reserve(&out, deflateBound(&z, b->size));
    z.next_in = (unsigned char *)b->data;
    z.avail_in = (uInt)b->size;
    z.next_out = (unsigned char *)out.data;
    z.avail_out = (uInt)(deflateBound(&z, b->size));
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    out.size = z.total_out;
    deflateEnd(&z);
    buf_fini(b);
    *b = out;
}

char *test_file(const char *dir, const char *name, const buf *b)
{
    char *path = xasprintf("%s/%s", dir, name);
    if (fs_write_atomic(path, b->data, b->size, NULL) != OK)
        abort();
    return path;
}

char *test_pair(const char *dir, uint32_t n, uint32_t h, uint32_t w)
{
    buf images = BUF_INIT, labels = BUF_INIT;
    idx_header(&images, 8, 3, (uint32_t[]){n, h, w});
    idx_header(&labels, 8, 1, &n);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < h * w; k++)
            idx_big_endian(&images, (i * 7 + k) % 256, 1);
        idx_big_endian(&labels, i % 10, 1);
    }
    char *path = test_file(dir, "t-images-idx3-ubyte", &images);
    free(test_file(dir, "t-labels-idx1-ubyte", &labels));
    buf_fini(&images);
    buf_fini(&labels);
    return path;
}
