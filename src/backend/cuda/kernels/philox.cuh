/*
 * Random numbers as common/base/rng.h draws them (Philox4x32-10; Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", SC'11), on the device: the same words, so the same masks.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_PHILOX_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_PHILOX_CUH

#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/launch.h"

struct philox {
    uint32_t key[2], id[2];
};

__device__ __forceinline__ uint64_t philox_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a + 0x9e3779b97f4a7c15ull * (b + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* The stream that decides what is dropped. */
__device__ __forceinline__ philox philox_of(const launch_dropout &d)
{
    uint64_t id = d.batch ? philox_mix(d.stream, (uint64_t)*d.batch) : 0;
    return {{(uint32_t)d.key, (uint32_t)(d.key >> 32)}, {(uint32_t)id, (uint32_t)(id >> 32)}};
}

__device__ __forceinline__ uint32_t philox_high(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

/* Words 4 block .. 4 block + 3. */
__device__ __forceinline__ uint4 philox_block(const philox &p, uint64_t block)
{
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = p.id[0], c3 = p.id[1];
    uint32_t k0 = p.key[0], k1 = p.key[1];
#pragma unroll
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
    return {c0, c1, c2, c3};
}

/* Bit i is 1 where word i of the block is at least the threshold. */
__device__ __forceinline__ uint32_t philox_kept(const philox &p, uint64_t block, uint32_t threshold)
{
    uint4 w = philox_block(p, block);
    return (uint32_t)(w.x >= threshold) | (uint32_t)(w.y >= threshold) << 1 |
           (uint32_t)(w.z >= threshold) << 2 | (uint32_t)(w.w >= threshold) << 3;
}

#endif
