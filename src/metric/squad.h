/*
 * Exact match and F1 of answers to questions, as SQuAD's official script scores them: of each question the best
 * over its gold answers, after both were normalized. The scores of parts of the questions merge to the bit.
 *
 * Texts are UTF-8. Lower case is as in text/chars.h: a capital sigma becomes the same letter everywhere.
 * Threads: one at a time; scores are nobody else's.
 */
#ifndef TEQUIO_METRIC_SQUAD_H
#define TEQUIO_METRIC_SQUAD_H

#include "common/base/buf.h"
#include "metric/exact_sum.h"

/* Lower case, without ASCII's punctuation, without the words a, an and the, one blank between words. E_DATA if it
 * is no UTF-8. */
MUST_USE status squad_normalize(const char *text, buf *ret, error *err);

/* A zeroed one has scored nothing. */
typedef struct squad_scores {
    int64_t questions, exact;
    exact_sum f1;
} squad_scores;

/* With no gold answer, or an empty one, the empty prediction is right (SQuAD 2.0). E_DATA. */
MUST_USE status squad_add(squad_scores *s, const char *prediction, const char *const *answers, size_t n_answers,
                          error *err);
void squad_merge(squad_scores *into, const squad_scores *from);

/* Shares of 1; NaN of no questions. */
double squad_exact_match(const squad_scores *s);
double squad_f1(const squad_scores *s);

#endif
