/* See png.h. A file is a signature and chunks: length, name, data, and the CRC-32 of name and data. */
#include "data/png.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put_u32(unsigned char *to, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(x >> (24 - 8 * i));
}

static void add_chunk(buf *file, const char *name, const void *data, size_t bytes)
{
    unsigned char word[4];
    put_u32(word, (uint32_t)bytes);
    buf_add(file, word, sizeof word);
    size_t begin = file->size;
    buf_add(file, name, 4);
    buf_add(file, data, bytes);
    put_u32(word, (uint32_t)crc32(0, (const unsigned char *)file->data + begin, (unsigned)(bytes + 4)));
    buf_add(file, word, sizeof word);
}

static void add_header(buf *file, const png_image *image)
{
    enum { DEPTH = 8, TRUECOLOUR = 2, INDEXED = 3 };
    unsigned char head[13] = {[8] = DEPTH, [9] = image->colors ? INDEXED : TRUECOLOUR};
    put_u32(head, (uint32_t)image->width);
    put_u32(head + 4, (uint32_t)image->height);
    add_chunk(file, "IHDR", head, sizeof head);
    if (image->colors)
        add_chunk(file, "PLTE", image->colors, 3 * (size_t)image->n_colors);
}

/* Each row begins with the number of its filter, 0: none. */
static status add_pixels(buf *file, const png_image *image, error *err)
{
    size_t row = (size_t)image->width * (image->colors ? 1 : 3), rows = (size_t)image->height * (row + 1);
    unsigned char *plain = xcalloc(rows, 1);
    for (int y = 0; y < image->height; y++)
        memcpy(plain + (size_t)y * (row + 1) + 1, image->pixels + (size_t)y * row, row);
    uLongf bytes = compressBound((uLong)rows);
    unsigned char *packed = xcalloc(bytes, 1);
    int code = compress2(packed, &bytes, plain, (uLong)rows, Z_BEST_COMPRESSION);
    if (code == Z_OK)
        add_chunk(file, "IDAT", packed, bytes);
    free(packed);
    free(plain);
    return code == Z_OK ? OK : FAIL(err, E_NOMEM, "zlib cannot deflate an image of %zu bytes", rows);
}

status png_encode(const png_image *image, buf *ret, error *err)
{
    buf_add(ret, "\x89PNG\r\n\x1a\n", 8);
    add_header(ret, image);
    TRY(add_pixels(ret, image, err));
    add_chunk(ret, "IEND", "", 0);
    return OK;
}

status png_write(const char *path, const png_image *image, error *err)
{
    buf file = BUF_INIT;
    status st = png_encode(image, &file, err);
    if (st == OK)
        st = fs_write_atomic(path, file.data, file.size, err);
    buf_fini(&file);
    return st;
}
