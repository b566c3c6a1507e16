/* Random declarations and flat vectors for property tests. */
#ifndef TEQUIO_TESTS_UNIT_COMMON_SUPPORT_FLATS_H
#define TEQUIO_TESTS_UNIT_COMMON_SUPPORT_FLATS_H

#include "common/parts/flat.h"

enum { FLATS_TENSORS = 24, FLATS_NAME = 16 };

typedef struct flats_case {
    char names[FLATS_TENSORS][FLATS_NAME];
    tensor_decl tensors[FLATS_TENSORS];
    size_t n;
} flats_case;

/* Case `number`: up to FLATS_TENSORS tensors, from empty ones to some of `largest` elements. */
void flats_random(uint64_t number, int64_t largest, flats_case *ret);

/* One-dimensional tensor with an all-zero start. */
tensor_decl flats_vector(const char *name, int64_t n, tensor_kind kind);

#endif
