/*
 * Rows of a batch that is padded to fewer places than the longest one, as long as those of the longest: metrics are
 * opened for one length.
 * Threads: one at a time.
 */
#ifndef TEQUIO_MODEL_WIDE_ROWS_H
#define TEQUIO_MODEL_WIDE_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* An array [outer, has, inner] that is to be [outer, all, inner]; has <= all. */
typedef struct wide_rows_form {
    int64_t outer, has, all, inner;
} wide_rows_form;

/* Zeros at first. */
typedef struct wide_rows {
    float *scores;
    int64_t *labels;
    size_t scores_cap, labels_cap;
} wide_rows;

void wide_rows_fini(wide_rows *w);

/* What comes behind is `filler`. Valid until the next call. */
const float *wide_rows_scores(wide_rows *w, const wide_rows_form *f, const float *from, float filler);
const int64_t *wide_rows_labels(wide_rows *w, const wide_rows_form *f, const int64_t *from, int64_t filler);

#endif
