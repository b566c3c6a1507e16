/*
 * What the formulas of unary_math.def are made of. The CPU's loops and the kernels of a device
 * compute with the same text, so they make the same bits. Pure functions.
 */
#ifndef TEQUIO_BACKEND_UNARY_MATH_H
#define TEQUIO_BACKEND_UNARY_MATH_H

#include "backend/math.h"
#include "backend/wide.h"

#define PART INLINE
#include "backend/unary_parts.def"

#endif
