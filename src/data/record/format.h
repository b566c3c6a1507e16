/*
 * How one record is read, whatever it holds: a format gives the values of a record by their keys, and
 * field.h turns them into the fields of an example.
 *
 * Threads: pure functions; what `parse` gives belongs to one thread.
 */
#ifndef TEQUIO_DATA_RECORD_FORMAT_H
#define TEQUIO_DATA_RECORD_FORMAT_H

#include "common/base/buf.h"
#include "common/base/error.h"
#include "data/index/records.h"

#include <stdbool.h>

typedef struct record_format {
    const char *type;               /* of the reader */
    record_kind kind;               /* how files of it fall into records */
    bool has_bytes;                 /* its strings may be any bytes, not UTF-8 alone */
    /* E_DATA; the caller prepends where the record stands. */
    status (*parse)(const unsigned char *data, size_t bytes, void **ret, error *err);
    void (*drop)(void *parsed);
    const void *(*find)(const void *parsed, const char *key);           /* a value; NULL: there is none */
    void (*keys)(const void *parsed, buf *ret);                         /* appends "a, b": those there are */
    /* Of a value: its elements (of one that is no list: 1), and these, if they are such. */
    size_t (*count)(const void *value);
    bool (*real)(const void *value, size_t i, double *ret);
    bool (*integer)(const void *value, size_t i, int64_t *ret);
    bool (*bytes)(const void *value, const void **ret, size_t *ret_n);  /* of a value that is one string */
    void (*describe)(const void *value, buf *ret);                      /* appends "a list of 3" */
} record_format;

extern const record_format record_format_json;          /* a line of JSON: an object */
extern const record_format record_format_tf_example;    /* a tf.train.Example */
extern const record_format record_format_sample;        /* members of a tar file that belong together */

#endif
