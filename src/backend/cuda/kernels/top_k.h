/* TopK. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_TOP_K_H
#define TEQUIO_BACKEND_CUDA_KERNELS_TOP_K_H

#include "backend/cuda/kernels/launch.h"
#include "common/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LAUNCH_TOP_K_SHORT = 1024 };

typedef struct launch_top_k_call {
    int64_t outer, size, inner, k;
    dtype type;                 /* F32, I64, I32, U8 */
    bool smallest;
} launch_top_k_call;

/* values, indices [outer,k,inner] of x [outer,size,inner], the best first, of several alike the
 * first; size is at most LAUNCH_TOP_K_SHORT. */
void launch_top_k(cuda_stream stream, const launch_top_k_call *c, void *values, int64_t *indices,
                  const void *x);

/* For longer lines. The elements of x, less than 2^32, are numbered line by line; keys[i] is a word of
 * the key of element order[i] (NULL: of i): by TOP_K_LOW, for I64 then TOP_K_HIGH, and last by
 * TOP_K_LINE they are sorted. */
typedef enum launch_top_k_word { TOP_K_LOW, TOP_K_HIGH, TOP_K_LINE } launch_top_k_word;
void launch_top_k_keys(cuda_stream stream, const launch_top_k_call *c, launch_top_k_word word,
                       uint32_t *keys, const uint32_t *order, const void *x);
/* As launch_top_k, of elements in that order. */
void launch_top_k_sorted(cuda_stream stream, const launch_top_k_call *c, void *values,
                         int64_t *indices, const void *x, const uint32_t *order);

#ifdef __cplusplus
}
#endif

#endif
