/*
 * The answer that scores of first and of last positions speak for: those two, the first not behind the last, whose
 * sum is the highest. Of several with the same sum, that with the lowest first position counts, then that with the
 * lowest last one, as in AllenNLP.
 * Threads: pure functions.
 */
#ifndef TEQUIO_METRIC_BEST_SPAN_H
#define TEQUIO_METRIC_BEST_SPAN_H

#include <stdint.h>

typedef struct best_span {
    int64_t first, last;
    float score;
} best_span;

/* Of n >= 1 positions, whose scores stand `stride` apart. NaN never wins. */
best_span best_span_of(const float *first, const float *last, int64_t n, int64_t stride);

#endif
