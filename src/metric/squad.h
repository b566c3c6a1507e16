/*
 * Exact match and F1 of answers to questions, as SQuAD's official script scores them: of each question the best
 * over its gold answers, after both were normalized.
 *
 * Texts are UTF-8. Lower case is as in text/chars.h: a capital sigma becomes the same letter everywhere.
 * Threads: pure functions.
 */
#ifndef TEQUIO_METRIC_SQUAD_H
#define TEQUIO_METRIC_SQUAD_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdbool.h>

/* Lower case, without ASCII's punctuation, without the words a, an and the, one blank between words. E_DATA if it
 * is no UTF-8. */
MUST_USE status squad_normalize(const char *text, buf *ret, error *err);

typedef struct squad_score {
    bool exact;
    double f1;
} squad_score;

/* With no gold answer, or an empty one, the empty prediction is right (SQuAD 2.0). E_DATA. */
MUST_USE status squad_score_of(const char *prediction, const char *const *answers, size_t n_answers,
                               squad_score *ret, error *err);

#endif
