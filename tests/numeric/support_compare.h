/*
 * Comparing floats with the reference. An element may be off by `rtol` of itself plus `rtol` of the
 * root mean square of its tensor: where large terms cancel, a sum is as exact as its terms are.
 */
#ifndef TEQUIO_TESTS_NUMERIC_SUPPORT_COMPARE_H
#define TEQUIO_TESTS_NUMERIC_SUPPORT_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

double root_mean_square(const double *x, int64_t n);

/* Prints the worst element under `what` when one is too far off (or not a number). */
bool is_close(const char *what, const double *got, const double *want, int64_t n, double rtol);

#endif
