/*
 * IDX: the file format of MNIST and its kin, plain or gzip. Two zero bytes, a type, a rank,
 * big-endian u32 dimensions, big-endian values, nothing after.
 *
 * A gzip file is inflated once into memory, any other is mapped; both then give random access. The
 * reader trusts nothing: sizes are multiplied with overflow checks and must match the file to the
 * byte.
 *
 * Threads: an open file is immutable, any thread may read.
 */
#ifndef TEQUIO_DATA_IDX_H
#define TEQUIO_DATA_IDX_H

#include "common/base/error.h"
#include "common/base/fs.h"

#include <stdint.h>

enum { IDX_RANK = 8, IDX_DIMS_TEXT = 128 };

typedef enum idx_type {
    IDX_U8 = 0x08,
    IDX_I8 = 0x09,
    IDX_I16 = 0x0B,
    IDX_I32 = 0x0C,
    IDX_F32 = 0x0D,
    IDX_F64 = 0x0E,
} idx_type;

typedef struct idx {
    char *path;
    idx_type type;
    int32_t rank;                   /* 1 .. IDX_RANK */
    int64_t dim[IDX_RANK];          /* dim[0]: examples */
    size_t values_per_item;         /* product of the other dimensions */
    const unsigned char *values;    /* big-endian, unaligned */
    fs_map map;                     /* not gzip: the file */
    void *heap;                     /* gzip: the inflated values */
} idx;

/* E_DATA when the file cannot be read or is not IDX, with offset and reason. */
MUST_USE status idx_open(const char *path, idx *ret, error *err);
/* The same over memory, kept until idx_close. `origin` names it in messages. */
MUST_USE status idx_open_memory(const void *data, size_t bytes, const char *origin, idx *ret,
                                error *err);
void idx_close(idx *f);

size_t idx_type_bytes(idx_type t);          /* 0 for an unknown type */
const char *idx_type_name(idx_type t);      /* "u8" */
bool idx_is_integer(const idx *f);

/* The shape as people write it: "60000 x 28 x 28 u8". */
const char *idx_dims_text(const idx *f, char buffer[IDX_DIMS_TEXT]);

/* Value `i` of the whole file. */
int64_t idx_integer(const idx *f, size_t i);
double idx_number(const idx *f, size_t i);

#endif
