/*
 * A column of a table on its way from words to numbers (csv_reader.c).
 *
 *   number    float32: standardized by mean and deviation, its logarithm, or as it is; a missing one
 *             is 0, which is the mean
 *   category  int64: 1 + the place of the word in the column's vocabulary, or 1 + its hash; 0 where
 *             it is missing or not in the vocabulary
 *   class     int64: the place of the word in the vocabulary of labels
 *
 * A vocabulary is learned from a whole column, its words put in order, or given. As JSON it is a
 * list of words or, of a standardized number, the list [mean, deviation].
 * Threads: one at a time until column_finish; then immutable.
 */
#ifndef TEQUIO_DATA_COLUMN_H
#define TEQUIO_DATA_COLUMN_H

#include "common/base/error.h"
#include "common/base/json.h"
#include "data/words.h"

#include <stdbool.h>

typedef enum column_kind { COLUMN_NUMBER, COLUMN_CATEGORY, COLUMN_CLASS } column_kind;
typedef enum column_scaling { SCALING_NONE, SCALING_STANDARDIZE, SCALING_LOG } column_scaling;

typedef struct column {
    const char *name;
    size_t place;           /* in a row of the file */
    column_kind kind;
    column_scaling scaling; /* of numbers */
    int64_t buckets;        /* of categories: numbers they are hashed into; 0: a vocabulary */
    bool is_given;          /* the vocabulary came with column_load */
    words *words;
    double mean, deviation;
    float *numbers;         /* [rows], of numbers */
    int32_t *ids;           /* [rows], otherwise */
} column;

/* Room for so many rows; name, kind, scaling and buckets are set. E_NOMEM. */
MUST_USE status column_begin(column *c, size_t rows, error *err);
void column_fini(column *c);

/* Takes its vocabulary; `origin` names where it stands. E_DATA. */
MUST_USE status column_load(column *c, const json_t *vocabulary, const char *origin, error *err);
json_t *column_vocabulary(const column *c);     /* a new reference; NULL: has none */

/* The word of row `row`; NULL: missing. E_DATA; the caller prepends where. */
MUST_USE status column_take(column *c, size_t row, const char *word, error *err);
/* Behind the last row: vocabularies are put in order, numbers are scaled. */
void column_finish(column *c, size_t rows);

/* How many numbers a category or class can have. */
int64_t column_size(const column *c);

#endif
