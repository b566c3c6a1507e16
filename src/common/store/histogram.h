/*
 * The inside of events_histogram: counts in TensorFlow's default buckets, and their short form.
 *
 * Bucket limits grow from 1e-12 by a factor of 1.1 up to 1e20, then the largest double; mirrored
 * for negative values, with 0 between. A value lies in the first bucket whose limit is above it.
 * Threads: one histogram belongs to one thread at a time.
 */
#ifndef TEQUIO_COMMON_STORE_HISTOGRAM_H
#define TEQUIO_COMMON_STORE_HISTOGRAM_H

#include "common/store/events.h"

/* As it goes into an event: runs of empty buckets are one bucket. */
typedef struct histogram_summary {
    double min, max, num, sum, sum_squares;
    size_t n_buckets;
    double *limit, *count; /* [n_buckets], owned */
} histogram_summary;

void histogram_summarise(const events_histogram *h, histogram_summary *ret);
void histogram_summary_fini(histogram_summary *s);

#endif
