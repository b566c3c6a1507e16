/* Images that came up as bytes: the numbers data readers make of them, bit for bit. */
#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/input.h"

enum { THREADS = 256, MOST_BLOCKS = 4096 };

/* Chosen by comparison: what a thread counts its way into does not stay in registers. */
static __device__ __forceinline__ float number_of(const launch_bytes &b, int64_t at, uint32_t byte)
{
    int64_t c = b.channels == 1 ? 0 : at / b.inner % b.channels;
    float scale = b.scale[0], offset = b.offset[0];
#pragma unroll
    for (int k = 1; k < LAUNCH_CHANNELS; k++) {
        scale = c == k ? b.scale[k] : scale;
        offset = c == k ? b.offset[k] : offset;
    }
    return (float)byte * scale + offset;
}

/* By fours; the last thread has what is left. */
static KERNEL(THREADS, expand_bytes, launch_bytes b, float *y, const uint8_t *x)
{
    int64_t first = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int64_t step = (int64_t)gridDim.x * THREADS, fours = b.n / 4;
    for (int64_t i = first; i < fours; i += step) {
        uint32_t bytes = reinterpret_cast<const uint32_t *>(x)[i];
        float v[4];
        for (int j = 0; j < 4; j++)
            v[j] = number_of(b, 4 * i + j, bytes >> 8 * j & 0xff);
        store_vec<4>(y + 4 * i, v);
    }
    int64_t rest = 4 * fours + first;
    if (IN(rest < b.n))
        y[rest] = number_of(b, rest, x[rest]);
}

void launch_expand_bytes(cuda_stream stream, const launch_bytes *b, float *y, const uint8_t *x)
{
    if (b->n == 0)
        return;
    int64_t blocks = (b->n / 4 + THREADS) / THREADS;
    dim3 grid((unsigned)(blocks < (int64_t)MOST_BLOCKS ? blocks : (int64_t)MOST_BLOCKS));
    LAUNCH(expand_bytes, grid, dim3(THREADS), 0, stream, *b, y, x);
}
