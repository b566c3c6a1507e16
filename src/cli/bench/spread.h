/* What a few measurements of one thing say. Pure functions. */
#ifndef TEQUIO_CLI_BENCH_SPREAD_H
#define TEQUIO_CLI_BENCH_SPREAD_H

#include <stddef.h>

typedef struct spread {
    double median, min, max;
} spread;

/* Of at least one value; sorts them. */
spread spread_of(double *values, size_t n);

#endif
