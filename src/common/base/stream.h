/*
 * Stores that pass the caches by. An ordinary store of memory that is in no cache reads it first,
 * which for large arrays nobody reads soon is traffic for nothing.
 *
 * On machines without such stores (all but x86-64 here) it is a plain copy.
 */
#ifndef TEQUIO_COMMON_BASE_STREAM_H
#define TEQUIO_COMMON_BASE_STREAM_H

#include <stddef.h>

/* Copies n floats; the arrays do not overlap. What was copied is seen by other threads as after any
 * other store: in the order a lock or an atomic says. */
void stream_copy(float *restrict to, const float *restrict from, size_t n);

#endif
