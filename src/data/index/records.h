/*
 * Where the records of a file lie. A kind of file says how its bytes fall into records:
 *
 *   lines      each line that is not blank, without its end ("\n" or "\r\n")
 *   tfrecord   TensorFlow's: length, its checksum, the record, its checksum (CRC-32C, masked); all are checked
 *   samples    of a tar, members that follow each other and are called alike up to the first dot of their last
 *              part: KEY.jpg, KEY.cls. The record is all of them with their heads (samples.h)
 *
 * One that is damaged is refused, E_DATA, with the file, the record or line, and the byte.
 * Pure functions of the bytes; a large file is cut by several threads, with the same outcome.
 */
#ifndef TEQUIO_DATA_INDEX_RECORDS_H
#define TEQUIO_DATA_INDEX_RECORDS_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef enum record_kind { RECORD_LINES, RECORD_TFRECORD, RECORD_SAMPLES } record_kind;

/* The bytes [at, at + bytes) of a file. */
typedef struct record_span {
    uint64_t at, bytes;
} record_span;

typedef struct record_list {
    record_span *at;
    size_t n, cap;
} record_list;

void record_list_fini(record_list *l);
void record_list_add(record_list *l, size_t at, size_t bytes);

/* A file's bytes; `name` names it in messages. */
typedef struct record_source {
    const char *name;
    const unsigned char *data;
    size_t bytes;
} record_source;

/* Fills an empty list, in the order of the file, on up to `threads` threads (0: as many as there are
 * processors). On failure it is empty too. */
MUST_USE status records_cut(record_kind kind, const record_source *source, int threads, record_list *ret,
                            error *err);

/* Appends where the record at byte `at` is found, number `n` of its file from 0: "line 17 (byte 1234)". */
void records_place(record_kind kind, const record_source *source, uint64_t at, size_t n, buf *ret);

#endif
