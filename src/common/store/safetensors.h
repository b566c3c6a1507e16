/*
 * safetensors files: u64 little-endian header size, JSON header, raw bytes.
 * https://github.com/huggingface/safetensors (README, "Format").
 *
 * The reader trusts nothing: sizes, offsets without holes or overlap, products with overflow
 * checks, duplicate names, header below 100 MB. E_DATA names file, tensor and what is wrong.
 *
 * Threads: one writer or reader belongs to one thread at a time; an open reader may be read by
 * many.
 */
#ifndef TEQUIO_COMMON_STORE_SAFETENSORS_H
#define TEQUIO_COMMON_STORE_SAFETENSORS_H

#include "common/base/dtype.h"
#include "common/base/error.h"
#include "common/parts/flat.h"

#include <stddef.h>
#include <stdint.h>

typedef struct st_tensor {
    const char *name;
    dtype dtype;
    int32_t rank;
    int64_t dim[TENSOR_RANK];
    const void *data; /* reader: inside the mapped file, maybe unaligned */
    size_t bytes;
} st_tensor;

typedef struct st_file st_file;

MUST_USE status st_open(const char *path, st_file **ret, error *err);
/* The same over memory (kept until st_close), for tests and fuzzing. */
MUST_USE status st_open_memory(const void *data, size_t bytes, const char *origin, st_file **ret,
                               error *err);
void st_close(st_file **f);
size_t st_count(const st_file *f);
const st_tensor *st_at(const st_file *f, size_t i);           /* in file order */
const st_tensor *st_find(const st_file *f, const char *name); /* NULL if absent */
const char *st_metadata(const st_file *f, const char *key);   /* NULL if absent */
const char *st_metadata_key(const st_file *f, size_t i);      /* NULL behind the last one */

/* Streaming writer: header first from the declared tensors (data ignored), then the bytes in the
 * order of declaration. Written beside `path`, so that several may write one file, and renamed when
 * it is whole; the caller syncs the folder. */
typedef struct st_writer st_writer;
typedef struct st_meta {
    const char *key, *value;
} st_meta;
MUST_USE status st_writer_open(const char *path, const st_tensor *tensors, size_t n,
                               const st_meta *meta, size_t n_meta, st_writer **ret, error *err);
MUST_USE status st_writer_add(st_writer *w, const void *data, size_t bytes, error *err);
/* Syncs, closes and renames; *ret_sha256 (65 bytes, may be NULL) is the whole file's. BUG if bytes
 * are missing. */
MUST_USE status st_writer_close(st_writer **w, char *ret_sha256, uint64_t *ret_bytes, error *err);
void st_writer_abort(st_writer **w); /* closes and unlinks what there is of it */

#endif
