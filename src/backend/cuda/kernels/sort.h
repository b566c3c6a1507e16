/* A stable sort of numbers by keys. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_SORT_H
#define TEQUIO_BACKEND_CUDA_KERNELS_SORT_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct launch_sort_call {
    int64_t n;                  /* below 2^32 */
    int bits;                   /* of a key that count, the lowest; 1 .. 32 */
    const uint32_t *keys;       /* [n] */
    const uint32_t *from;       /* [n]: the numbers that have the keys; NULL: 0 .. n-1 */
    uint32_t *sorted, *order;   /* [n]: keys and numbers by ascending keys, equal ones as they stood */
    void *workspace;            /* launch_sort_workspace_bytes(n) bytes */
} launch_sort_call;

/* Of keys below n that count; more than 32 for an n that is too large. */
static inline int sort_bits(int64_t n)
{
    int bits = 1;
    while (bits < 63 && n > (int64_t)1 << bits)
        bits++;
    return bits;
}

size_t launch_sort_workspace_bytes(int64_t n);
void launch_sort(cuda_stream stream, const launch_sort_call *c);

#ifdef __cplusplus
}
#endif

#endif
