/* Runs of one value, of any type. Pure functions. */
#ifndef TEQUIO_BACKEND_FILL_H
#define TEQUIO_BACKEND_FILL_H

#include "common/base/dtype.h"

#include <stdint.h>

/* The bytes of a value of type t in the first places of `ret`, cut to what the type can hold. */
void fill_value(dtype t, double value, uint8_t ret[8]);

/* n elements of 1, 2, 4 or 8 bytes. */
void fill_run(void *to, int64_t n, const uint8_t value[8], size_t element);

#endif
