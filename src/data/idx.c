/* See idx.h. */
#include "data/idx.h"

#include "common/base/alloc.h"
#include "data/gunzip.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 4, HEADER_MAX = MAGIC + 4 * IDX_RANK };

static const struct {
    idx_type type;
    size_t bytes;
    const char *name;
} types[] = {
    {IDX_U8, 1, "u8"},   {IDX_I8, 1, "i8"},   {IDX_I16, 2, "i16"},
    {IDX_I32, 4, "i32"}, {IDX_F32, 4, "f32"}, {IDX_F64, 8, "f64"},
};

static status parse_magic(const unsigned char *p, idx *f, error *err)
{
    if (p[0] != 0 || p[1] != 0)
        return FAIL(err, E_DATA, "'%s': bytes 0 and 1 are %02x %02x, an IDX file begins with 00 00",
                    f->path, p[0], p[1]);
    f->type = (idx_type)p[2];
    if (idx_type_bytes(f->type) == 0)
        return FAIL(err, E_DATA,
                    "'%s': byte 2 (type) is %02x, known are 08 (u8), 09 (i8), 0b (i16), 0c (i32), "
                    "0d (f32), 0e (f64)",
                    f->path, p[2]);
    f->rank = p[3];
    if (f->rank < 1 || f->rank > IDX_RANK)
        return FAIL(err, E_DATA, "'%s': byte 3 (number of dimensions) is %d, expected 1 to %d",
                    f->path, f->rank, IDX_RANK);
    return OK;
}

static status parse_dims(const unsigned char *p, idx *f, size_t *ret_bytes, error *err)
{
    size_t per_item = 1, total;
    bool fits = true;
    for (int32_t i = 0; i < f->rank; i++) {
        uint32_t dim;
        memcpy(&dim, p + 4 * i, sizeof dim);
        f->dim[i] = be32toh(dim);
        if (i > 0)
            fits = fits && size_mul(per_item, (size_t)f->dim[i], &per_item);
    }
    f->values_per_item = per_item;
    char text[IDX_DIMS_TEXT];
    if (!fits || !size_mul(per_item, (size_t)f->dim[0], &total) ||
        !size_mul(total, idx_type_bytes(f->type), &total) || total > SIZE_MAX / 2)
        return FAIL(err, E_DATA, "'%s': bytes 4 to %d promise %s values, more than memory can hold",
                    f->path, MAGIC + 4 * f->rank - 1, idx_dims_text(f, text));
    *ret_bytes = total;
    return OK;
}

static status header_cut(const idx *f, size_t have, size_t need, error *err)
{
    return FAIL(err, E_DATA, "'%s': ends after %zu bytes, inside the header of %zu", f->path, have,
                need);
}

static status size_wrong(const idx *f, size_t promised, const char *holds, error *err)
{
    char text[IDX_DIMS_TEXT];
    return FAIL(err, E_DATA,
                "'%s': the header promises %zu bytes of values (%s), the file holds %s", f->path,
                promised, idx_dims_text(f, text), holds);
}

static status open_plain(const unsigned char *data, size_t bytes, idx *f, error *err)
{
    if (bytes < MAGIC)
        return header_cut(f, bytes, MAGIC, err);
    TRY(parse_magic(data, f, err));
    size_t header = MAGIC + 4 * (size_t)f->rank, promised;
    if (bytes < header)
        return header_cut(f, bytes, header, err);
    TRY(parse_dims(data + MAGIC, f, &promised, err));
    if (bytes - header != promised) {
        char holds[32];
        snprintf(holds, sizeof holds, "%zu", bytes - header);
        return size_wrong(f, promised, holds, err);
    }
    f->values = data + header;
    return OK;
}

/* Inflates exactly `want` bytes of the header. */
static status read_header(gunzip *z, unsigned char *out, size_t want, size_t before, const idx *f,
                          error *err)
{
    size_t got;
    TRY(gunzip_read(z, out, want, &got, err));
    return got == want ? OK : header_cut(f, before + got, before + want, err);
}

static status inflate_values(gunzip *z, size_t compressed, size_t promised, idx *f, error *err)
{
    /* Allocated only once the header's promise is possible at all: a lie costs no memory. */
    if (promised > gunzip_limit(compressed))
        return size_wrong(f, promised, "too few compressed bytes for that", err);
    TRYF(mem_alloc(promised, "inflated IDX values", &f->heap, err), err, "'%s'", f->path);
    size_t got, more;
    unsigned char beyond;
    TRY(gunzip_read(z, f->heap, promised, &got, err));
    TRY(gunzip_read(z, &beyond, 1, &more, err)); /* also checks the checksum at the end */
    if (got != promised || more > 0) {
        char holds[32];
        snprintf(holds, sizeof holds, more > 0 ? "more than %zu" : "%zu", got);
        return size_wrong(f, promised, holds, err);
    }
    f->values = f->heap;
    return OK;
}

static status open_gzip(const void *data, size_t bytes, idx *f, error *err)
{
    gunzip *z = NULL;
    unsigned char header[HEADER_MAX];
    size_t promised;
    status st;
    TRY_OUT(st, gunzip_open(data, bytes, (packing){.kind = PACKING_GZIP}, f->path, &z, err));
    TRY_OUT(st, read_header(z, header, MAGIC, 0, f, err));
    TRY_OUT(st, parse_magic(header, f, err));
    TRY_OUT(st, read_header(z, header, 4 * (size_t)f->rank, MAGIC, f, err));
    TRY_OUT(st, parse_dims(header, f, &promised, err));
    TRY_OUT(st, inflate_values(z, bytes, promised, f, err));
out:
    gunzip_close(&z);
    return st;
}

status idx_open_memory(const void *data, size_t bytes, const char *origin, idx *ret, error *err)
{
    idx f = {.path = xstrdup(origin)};
    status st = gunzip_is_gzip(data, bytes) ? open_gzip(data, bytes, &f, err)
                                            : open_plain(data, bytes, &f, err);
    if (st != OK) {
        idx_close(&f);
        return st;
    }
    *ret = f;
    return OK;
}

status idx_open(const char *path, idx *ret, error *err)
{
    fs_map map;
    TRY(fs_map_open(path, &map, err));
    status st = idx_open_memory(map.data, map.bytes, path, ret, err);
    if (st == OK && !ret->heap)
        ret->map = map;
    else
        fs_map_close(&map);
    return st;
}

void idx_close(idx *f)
{
    free(f->path);
    mem_free(f->heap);
    if (f->map.data)
        fs_map_close(&f->map);
    *f = (idx){0};
}

size_t idx_type_bytes(idx_type t)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].type == t)
            return types[i].bytes;
    return 0;
}

const char *idx_type_name(idx_type t)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].type == t)
            return types[i].name;
    return "unknown";
}

bool idx_is_integer(const idx *f)
{
    return f->type != IDX_F32 && f->type != IDX_F64;
}

const char *idx_dims_text(const idx *f, char buffer[IDX_DIMS_TEXT])
{
    size_t at = 0;
    for (int32_t i = 0; i < f->rank; i++)
        at += (size_t)snprintf(buffer + at, IDX_DIMS_TEXT - at, "%s%lld", i ? " x " : "",
                               (long long)f->dim[i]);
    snprintf(buffer + at, IDX_DIMS_TEXT - at, " %s", idx_type_name(f->type));
    return buffer;
}

static uint64_t raw(const idx *f, size_t i, size_t bytes)
{
    const unsigned char *p = f->values + i * bytes;
    uint64_t x = 0;
    for (size_t k = 0; k < bytes; k++)
        x = x << 8 | p[k];
    return x;
}

int64_t idx_integer(const idx *f, size_t i)
{
    switch (f->type) {
    case IDX_U8:
        return f->values[i];
    case IDX_I8:
        return (int8_t)f->values[i];
    case IDX_I16:
        return (int16_t)raw(f, i, 2);
    case IDX_I32:
        return (int32_t)raw(f, i, 4);
    default:
        BUG("'%s' holds no integers", f->path);
    }
}

double idx_number(const idx *f, size_t i)
{
    if (f->type == IDX_F32) {
        uint32_t bits = (uint32_t)raw(f, i, 4);
        float x;
        memcpy(&x, &bits, sizeof x);
        return (double)x;
    }
    if (f->type == IDX_F64) {
        uint64_t bits = raw(f, i, 8);
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    return (double)idx_integer(f, i);
}
