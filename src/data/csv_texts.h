/*
 * The texts of a table's rows (csv_reader.c): a column of texts, or two, as the fields of text_encoder.h. They are
 * turned into tokens as the table is opened: 4 bytes each are kept, and 1 for which of two texts it is of.
 * Threads: one at a time until the last row is taken; then immutable.
 */
#ifndef TEQUIO_DATA_CSV_TEXTS_H
#define TEQUIO_DATA_CSV_TEXTS_H

#include "common/base/content_digest.h"
#include "data/csv.h"
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
    void *row[TEXT_FIELDS];         /* [most] of each field, as a row is taken */
    int32_t *ids;                   /* of all rows */
    uint8_t *types;
    size_t n, ids_cap, types_cap;
    size_t *first;                  /* [rows + 1] */
    size_t rows, first_cap;
    size_t n_cut;                   /* rows that lost tokens */
} csv_texts;

/* Of columns that are named already. As text_encoder_open. */
MUST_USE status csv_texts_open(csv_texts *t, const text_encoder_options *options, error *err);
void csv_texts_fini(csv_texts *t);

/* The next row. E_DATA: text_encoder_take's. */
MUST_USE status csv_texts_take(csv_texts *t, const csv *row, error *err);
/* How many tokens row `row` has. */
uint32_t csv_texts_length(const csv_texts *t, size_t row);
/* Into its fields, of which there are as many as it returns. */
size_t csv_texts_read(const csv_texts *t, size_t row, void *const *ret);
void csv_texts_contents(const csv_texts *t, size_t row, size_t rows, content_digest *ret);

#endif
