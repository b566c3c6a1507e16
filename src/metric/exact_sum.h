/*
 * Exact sums of doubles: what is added is kept in full, so the sum does not depend on the order of the
 * terms nor on how they were split, and is rounded once, when it is asked for. (R. M. Neal, "Fast Exact
 * Summation Using Small and Large Superaccumulators", arXiv:1505.05571: this is the small one.)
 *
 * A zeroed exact_sum is the sum of nothing. It takes 552 bytes. Threads: one at a time.
 */
#ifndef TEQUIO_METRIC_EXACT_SUM_H
#define TEQUIO_METRIC_EXACT_SUM_H

#include <stddef.h>
#include <stdint.h>

enum {
    EXACT_CHUNKS = 68, /* of 32 bits, from 2^-1074 on: room for 2^63 terms */
    EXACT_PARTS = 48   /* the most doubles that exact_sum_parts makes */
};

typedef struct exact_sum {
    int64_t chunk[EXACT_CHUNKS]; /* the sum is that of chunk[i] * 2^(32 i - 1074) */
    int64_t added;               /* terms since carries went up */
} exact_sum;

/* Terms are finite: what is not is for the caller to refuse. */
void exact_sum_add(exact_sum *s, double x);
/* a * b, exact unless it lies below 2^-960: products of sums of float32 do not. */
void exact_sum_add_product(exact_sum *s, double a, double b);
void exact_sum_merge(exact_sum *into, const exact_sum *from);

/* Equal sums have equal bytes after this. */
void exact_sum_normalize(exact_sum *s);

/* Rounded to the nearest double, ties to even. */
double exact_sum_value(const exact_sum *s);

/* Doubles whose sum is exactly this, largest first. Returns how many. */
size_t exact_sum_parts(const exact_sum *s, double ret[EXACT_PARTS]);

#endif
