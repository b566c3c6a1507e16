/* Random numbers, the CPU's bit for bit. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_RANDOM_H
#define TEQUIO_BACKEND_CUDA_KERNELS_RANDOM_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[n] = shift + scale times uniform or normal numbers of the stream. */
typedef struct launch_random_call {
    const int64_t *batch; /* its number is read when the kernel runs */
    uint64_t key;         /* rng_mix(seed, RNG_NODE) */
    uint64_t stream;
    float shift, scale;
    bool normal;
} launch_random_call;

void launch_random(cuda_stream stream, float *y, int64_t n, const launch_random_call *c);

#ifdef __cplusplus
}
#endif

#endif
