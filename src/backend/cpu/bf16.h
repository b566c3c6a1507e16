/* bfloat16: the upper half of a float. Pure functions. */
#ifndef TEQUIO_BACKEND_CPU_BF16_H
#define TEQUIO_BACKEND_CPU_BF16_H

#include <stdint.h>

typedef uint16_t bf16;

/* Rounds to nearest, ties to even; NaN stays NaN. */
void bf16_from(bf16 *y, const float *x, int64_t n);

#endif
