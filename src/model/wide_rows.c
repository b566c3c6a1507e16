/* See wide_rows.h. */
#include "model/wide_rows.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void wide_rows_fini(wide_rows *w)
{
    free(w->scores);
    free(w->labels);
    *w = (wide_rows){.scores = NULL};
}

/* Of elements of `width` bytes. */
static void widen(const wide_rows_form *f, const void *from, size_t width, const void *filler, void *ret)
{
    size_t has = (size_t)(f->has * f->inner) * width, all = (size_t)(f->all * f->inner) * width;
    for (int64_t i = 0; i < f->outer; i++) {
        char *row = (char *)ret + (size_t)i * all;
        memcpy(row, (const char *)from + (size_t)i * has, has);
        for (size_t at = has; at < all; at += width)
            memcpy(row + at, filler, width);
    }
}

const float *wide_rows_scores(wide_rows *w, const wide_rows_form *f, const float *from, float filler)
{
    GROW(w->scores, w->scores_cap, (size_t)(f->outer * f->all * f->inner));
    widen(f, from, sizeof filler, &filler, w->scores);
    return w->scores;
}

const int64_t *wide_rows_labels(wide_rows *w, const wide_rows_form *f, const int64_t *from, int64_t filler)
{
    GROW(w->labels, w->labels_cap, (size_t)(f->outer * f->all * f->inner));
    widen(f, from, sizeof filler, &filler, w->labels);
    return w->labels;
}
