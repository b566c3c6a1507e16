/* What the loss shares with Softmax. Bits do not depend on the vector width. Pure functions. */
#ifndef TEQUIO_BACKEND_CPU_SOFTMAX_H
#define TEQUIO_BACKEND_CPU_SOFTMAX_H

#include <stdint.h>

/* y may be x. */
void softmax_log_row(float *y, const float *x, int64_t n);

/* The same for `width` <= LANES columns side by side, `step` elements from one entry to the next.
 */
void softmax_log_columns(float *y, const float *x, int64_t n, int64_t step, int width);

#endif
