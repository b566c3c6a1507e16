/*
 * The texts of a table's rows (csv_reader.c): a column of texts, or two, as the fields of text_encoder.h. They are
 * turned into tokens by all processors when the table is opened for the first time, and kept (index/kept_arrays.h): 4
 * bytes a token, and 1 for which of two texts it is of.
 * Threads: the calling one, and those it starts and ends, until they are open; then immutable.
 */
#ifndef TEQUIO_DATA_CSV_TEXTS_H
#define TEQUIO_DATA_CSV_TEXTS_H

#include "common/base/content_digest.h"
#include "data/csv.h"
#include "data/index/kept_arrays.h"
#include "data/index/shards.h"
#include "data/text_encoder.h"

enum { CSV_TEXTS = 2 };

typedef struct csv_text_column {
    const char *name;               /* NULL: there is none */
    size_t place;                   /* in a row of the file */
} csv_text_column;

typedef struct csv_texts {
    text_encoder *encoder;          /* NULL: nothing is a text */
    csv_text_column columns[CSV_TEXTS];
    int64_t most;
    kept_arrays kept;               /* what follows lies there */
    const int32_t *ids;             /* of all rows */
    const uint8_t *types;
    const uint64_t *first;          /* [rows + 1] */
    size_t rows;
    size_t n_cut;                   /* rows that lost tokens */
} csv_texts;

/* Of columns that are named already. As text_encoder_open. */
MUST_USE status csv_texts_open(csv_texts *t, const text_encoder_options *options, error *err);
void csv_texts_fini(csv_texts *t);

/* Takes rows of texts, one behind the other. */
typedef struct csv_texts_maker csv_texts_maker;
/* The next row. E_DATA: text_encoder_take's, of it or of one before, with file and line. */
MUST_USE status csv_texts_add(csv_texts_maker *m, const csv *row, error *err);

typedef struct csv_texts_source {
    const shards *files;
    const char *path;               /* names them all */
    const char *options;            /* what else decides which texts the rows have */
    size_t rows;
    /* Gives all rows to csv_texts_add; may be called a second time. */
    status (*each)(void *user, csv_texts_maker *m, error *err);
    void *user;
} csv_texts_source;

MUST_USE status csv_texts_make(csv_texts *t, const csv_texts_source *source, error *err);

/* How many tokens row `row` has. */
uint32_t csv_texts_length(const csv_texts *t, size_t row);
/* Into its fields, of which there are as many as it returns. */
size_t csv_texts_read(const csv_texts *t, size_t row, void *const *ret);
void csv_texts_contents(const csv_texts *t, size_t row, size_t rows, content_digest *ret);

#endif
