/* Elements of any type to and from doubles; whole numbers beyond 2^53 lose their last bits. */
#ifndef TEQUIO_TESTS_NUMERIC_SUPPORT_VALUES_H
#define TEQUIO_TESTS_NUMERIC_SUPPORT_VALUES_H

#include "common/base/dtype.h"

#include <stdint.h>

void values_store(dtype t, int64_t n, const double *values, void *to);
void values_load(dtype t, int64_t n, const void *from, double *ret);

#endif
