/*
 * The rounds of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11)
 * and the mix that makes its keys and streams, for who draws one block (rng.h), many at a time
 * (backend/cpu/drop_mask.c) or in a kernel of a device (backend/cuda/kernels/philox.cuh).
 * Pure functions.
 */
#ifndef TEQUIO_COMMON_BASE_PHILOX_H
#define TEQUIO_COMMON_BASE_PHILOX_H

#include "common/base/inline.h"

#include <stdint.h>

typedef struct philox_block {
    uint32_t word[4];
} philox_block;

/* 64-bit mix of two words (splitmix64's finaliser). */
INLINE uint64_t philox_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a + UINT64_C(0x9e3779b97f4a7c15) * (b + 1);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

INLINE uint32_t philox_high(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

/* The words that counter {block, id} stands for. */
INLINE philox_block philox_draw(uint64_t block, const uint32_t id[2], const uint32_t key[2])
{
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = id[0], c3 = id[1];
    uint32_t k0 = key[0], k1 = key[1];
    UNROLL
    for (int round = 0; round < 10; round++) {
        uint32_t n0 = philox_high(0xCD9E8D57u, c2) ^ c1 ^ k0;
        uint32_t n2 = philox_high(0xD2511F53u, c0) ^ c3 ^ k1;
        c1 = 0xCD9E8D57u * c2;
        c3 = 0xD2511F53u * c0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    philox_block drawn = {{c0, c1, c2, c3}};
    return drawn;
}

#endif
