/*
 * Operands as they are stored: float32, or rounded to a half. What is on the device and what the
 * test computes with are the same numbers.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_KERNELS_SUPPORT_STORED_H
#define TEQUIO_TESTS_CUDA_EMU_KERNELS_SUPPORT_STORED_H

#include "cuda_emu/kernel_test.h"

#include <stdlib.h>

static const launch_type stored_types[] = {LAUNCH_F32, LAUNCH_BF16, LAUNCH_F16};
enum { STORED_TYPES = 3 };

/* Half a unit in the last place, of a number of size 1. */
static inline double stored_grain(launch_type type)
{
    return type == LAUNCH_F32 ? 0x1p-24 : type == LAUNCH_BF16 ? 0x1p-8 : 0x1p-11;
}

/* The numbers on the device; in x they are rounded. */
static inline void *stored_on_device(launch_type type, float *x, size_t n)
{
    void *host = malloc(stored_bytes(type, n));
    to_stored(host, type, x, n);
    from_stored(x, type, host, n);
    void *device = on_device(host, stored_bytes(type, n));
    free(host);
    return device;
}

static inline void *stored_alloc(launch_type type, size_t n)
{
    return device_alloc(stored_bytes(type, n));
}

static inline void stored_from_device(float *ret, launch_type type, const void *device, size_t n)
{
    void *host = malloc(stored_bytes(type, n));
    from_device(host, device, stored_bytes(type, n));
    from_stored(ret, type, host, n);
    free(host);
}

/* n numbers of [-size, size) about `middle`. */
static inline void numbers(float *ret, size_t n, uint32_t seed, float size, float middle)
{
    random_floats(ret, n, seed);
    for (size_t i = 0; i < n; i++)
        ret[i] = ret[i] * size + middle;
}

#endif
