/*
 * What kernels over rows share. Sums run over fixed columns, so bits do not depend on the width of
 * vectors. Pure functions.
 */
#ifndef TEQUIO_BACKEND_CPU_ROWS_H
#define TEQUIO_BACKEND_CPU_ROWS_H

#include <stdint.h>

float row_max(const float *x, int64_t n); /* -infinity for none */
float row_sum(const float *x, int64_t n);
float row_dot(const float *x, const float *y, int64_t n);
float row_squares(const float *x, float mean, int64_t n); /* the sum of (x - mean)^2 */

/* y = exp(x - max) for a max that no x exceeds by much; y may be x. row_exp returns y's sum. */
void row_exp_minus(float *y, const float *x, float max, int64_t n);
float row_exp(float *y, const float *x, float max, int64_t n);
void row_scale(float *x, float by, int64_t n);

#endif
