/* What the loss shares with Softmax. Bits do not depend on the vector width. Pure functions. */
#ifndef TEQUIO_BACKEND_CPU_SOFTMAX_H
#define TEQUIO_BACKEND_CPU_SOFTMAX_H

#include <stdint.h>

/* The logarithm of a softmax is (x - max) - log_sum: kept apart, both are exact where x is large.
 */
void softmax_measure_row(const float *x, int64_t n, float *ret_max, float *ret_log_sum);

/* The same for `width` <= LANES columns side by side, `step` elements from one entry to the next.
 */
void softmax_measure_columns(const float *x, int64_t n, int64_t step, int width, float *ret_max,
                             float *ret_log_sum);

#endif
