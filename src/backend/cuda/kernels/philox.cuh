/* The stream that common/base/rng.h draws, on the device: the same words, so the same masks. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_PHILOX_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_PHILOX_CUH

#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/launch.h"
#include "common/base/philox.h"

struct philox {
    uint32_t key[2], id[2];
};

/* The stream that decides what is dropped. */
__device__ __forceinline__ philox philox_of(const launch_dropout &d)
{
    uint64_t id = d.batch ? philox_mix(d.stream, (uint64_t)*d.batch) : 0;
    return {{(uint32_t)d.key, (uint32_t)(d.key >> 32)}, {(uint32_t)id, (uint32_t)(id >> 32)}};
}

/* Bit i is 1 where word i of the block is at least the threshold. */
__device__ __forceinline__ uint32_t philox_kept(const philox &p, uint64_t block, uint32_t threshold)
{
    philox_block drawn = philox_draw(block, p.id, p.key);
    uint32_t kept = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        kept |= (uint32_t)(drawn.word[i] >= threshold) << i;
    return kept;
}

#endif
