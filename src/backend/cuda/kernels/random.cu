/* Random numbers: a thread makes the four that one block of Philox decides. */
#include "backend/cuda/kernels/random.h"

#include "backend/cuda/kernels/rows.cuh"
#include "backend/random_math.h"
#include "common/base/philox.h"

enum { RANDOM_THREADS = 256 };

static KERNEL(RANDOM_THREADS, random_numbers, float *y, int64_t n, launch_random_call c)
{
    uint64_t name = philox_mix(c.stream, (uint64_t)*c.batch);
    const uint32_t id[] = {(uint32_t)name, (uint32_t)(name >> 32)};
    const uint32_t key[] = {(uint32_t)c.key, (uint32_t)(c.key >> 32)};
    for (int64_t q = (int64_t)blockIdx.x * RANDOM_THREADS + threadIdx.x; 4 * q < n;
         q += (int64_t)gridDim.x * RANDOM_THREADS) {
        philox_block drawn = philox_draw((uint64_t)q, id, key);
        for (int j = 0; j < 4; j++) {
            int pair = j / 2 * 2;
            float made = c.normal ? random_normal(drawn.word[pair], drawn.word[pair + 1],
                                                  (uint32_t)(j % 2))
                                  : random_uniform(drawn.word[j]);
            if (IN(4 * q + j < n))
                y[4 * q + j] = c.shift + c.scale * made;
        }
    }
}

void launch_random(cuda_stream stream, float *y, int64_t n, const launch_random_call *c)
{
    if (n == 0)
        return;
    LAUNCH(random_numbers, dim3(blocks_for(n, 4 * RANDOM_THREADS)), dim3(RANDOM_THREADS), 0, stream,
           y, n, *c);
}
