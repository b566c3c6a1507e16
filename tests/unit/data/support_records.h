/* Data sets of records for tests: a file of the given content, read by a reader of that type. */
#ifndef TEQUIO_TESTS_UNIT_DATA_SUPPORT_RECORDS_H
#define TEQUIO_TESTS_UNIT_DATA_SUPPORT_RECORDS_H

#include "common/base/buf.h"
#include "data/data.h"

/* `reader` holds the options beside the type. */
status records_open_path(const char *type, const char *reader, const char *path, const dataset_options *how,
                         dataset **ret, error *err);
/* Of a file of that content, called t.data. */
status records_open_bytes(const char *type, const char *reader, const buf *content, const dataset_options *how,
                          dataset **ret, error *err);
status records_open(const char *type, const char *reader, const char *text, const dataset_options *how,
                    dataset **ret, error *err);
dataset *records_must_open(const char *type, const char *reader, const char *text, const char *vocabulary);
/* The message holds `part`. */
void records_refuse(const char *type, const char *reader, const char *text, const char *vocabulary, status code,
                    const char *part);

/* Appends a record of a TFRecord file. */
void records_add_tfrecord(buf *b, const void *data, size_t bytes);

#endif
