/*
 * The first k of each line of [outer, size, inner], a line being one (outer, inner), in their
 * order; of equal ones the earlier. A short line is sorted by a block, all at once; long ones are
 * keys for sort.cu, from the last word of a key to the first and then by line, and their first are
 * looked up.
 */
#include "backend/cuda/kernels/order.cuh"
#include "backend/cuda/kernels/top_k.h"

enum { THREADS = 256, SHORT = LAUNCH_TOP_K_SHORT };

/* A number of x such that smaller is better: of 32 bits, or 64 for int64. */
static __device__ __forceinline__ uint64_t rank_of(const launch_top_k_call &c, const void *x,
                                                   int64_t i)
{
    int64_t key = c.type == DT_F32   ? order_of(((const float *)x)[i])
                  : c.type == DT_I64 ? order_of(((const int64_t *)x)[i])
                  : c.type == DT_I32 ? order_of(((const int32_t *)x)[i])
                                     : order_of(((const uint8_t *)x)[i]);
    key = c.smallest ? key : ~key;
    return c.type == DT_I64 ? (uint64_t)key ^ 1ull << 63 : (uint64_t)(key + (1ll << 31));
}

/* Element `at` of a line, in x. */
static __device__ __forceinline__ int64_t element_at(const launch_top_k_call &c, int64_t line,
                                                     int64_t at)
{
    return (line / c.inner * LD(c.size) + at) * c.inner + line % c.inner;
}

/* Number n of the best of a line is its element `at`. */
static __device__ __forceinline__ void give(const launch_top_k_call &c, void *values,
                                            int64_t *indices, const void *x, int64_t line,
                                            int64_t n, int64_t at)
{
    int64_t to = (line / c.inner * LD(c.k) + n) * c.inner + line % c.inner;
    int64_t from = element_at(c, line, at);
    indices[to] = at;
    if (c.type == DT_I64)
        ((uint64_t *)values)[to] = ((const uint64_t *)x)[from];
    else if (c.type == DT_U8)
        ((uint8_t *)values)[to] = ((const uint8_t *)x)[from];
    else
        ((uint32_t *)values)[to] = ((const uint32_t *)x)[from];
}

struct line_buffer {
    uint64_t rank[SHORT];
    uint32_t at[SHORT];
};

/* Puts two elements of the buffer into their order, or the opposite one. */
static __device__ __forceinline__ void order_two(line_buffer *r, int i, int k, bool is_ascending)
{
    bool is_later = r->rank[i] != r->rank[k] ? r->rank[i] > r->rank[k] : r->at[i] > r->at[k];
    if (is_later != is_ascending)
        return;
    uint64_t rank = r->rank[i];
    uint32_t at = r->at[i];
    r->rank[i] = r->rank[k];
    r->at[i] = r->at[k];
    r->rank[k] = rank;
    r->at[k] = at;
}

/* A bitonic sort of `capacity` elements, a power of two: what is beyond the line comes last. */
static KERNEL(THREADS, top_k_short, void *values, int64_t *indices, const void *x,
              launch_top_k_call c, int capacity)
{
    SHARED(line_buffer, r, );
    int64_t line = blockIdx.x;
    for (int i = (int)threadIdx.x; i < capacity; i += (int)blockDim.x) {
        r.rank[i] = i < c.size ? rank_of(c, x, element_at(c, line, i)) : UINT64_MAX;
        r.at[i] = (uint32_t)i;
    }
    __syncthreads();
    for (int run = 2; run <= capacity; run *= 2)
        for (int apart = run / 2; apart > 0; apart /= 2) {
            for (int p = (int)threadIdx.x; p < capacity / 2; p += (int)blockDim.x) {
                int i = 2 * p - (p & (apart - 1));
                order_two(&r, i, i + apart, (i & run) == 0);
            }
            __syncthreads();
        }
    for (int n = (int)threadIdx.x; n < c.k; n += (int)blockDim.x)
        give(c, values, indices, x, line, n, r.at[n]);
}

/* Elements are numbered line by line. The key of each, or of those that `order` says. */
static KERNEL(THREADS, top_k_keys, uint32_t *keys, const uint32_t *order, const void *x,
              launch_top_k_call c, launch_top_k_word word)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < c.outer * c.inner * c.size))
        return;
    int64_t number = order ? order[i] : i, line = number / c.size;
    uint64_t rank =
        word == TOP_K_LINE ? (uint64_t)line : rank_of(c, x, element_at(c, line, number % c.size));
    keys[i] = (uint32_t)(word == TOP_K_HIGH ? rank >> 32 : rank);
}

static KERNEL(THREADS, top_k_long, void *values, int64_t *indices, const void *x,
              const uint32_t *order, launch_top_k_call c)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < c.outer * c.inner * c.k))
        return;
    int64_t line = i / c.k, n = i % c.k;
    give(c, values, indices, x, line, n, order[line * LD(c.size) + n] % c.size);
}

static unsigned blocks_for(int64_t n)
{
    return (unsigned)((n + THREADS - 1) / THREADS);
}

void launch_top_k(cuda_stream stream, const launch_top_k_call *c, void *values, int64_t *indices,
                  const void *x)
{
    int capacity = 2, threads = 32;
    if (c->outer * c->inner * c->k == 0)
        return;
    while (capacity < c->size)
        capacity *= 2;
    while (threads < capacity / 2 && threads < THREADS)
        threads *= 2;
    LAUNCH(top_k_short, dim3((unsigned)(c->outer * c->inner)), dim3((unsigned)threads), 0, stream,
           values, indices, x, *c, capacity);
}

void launch_top_k_keys(cuda_stream stream, const launch_top_k_call *c, launch_top_k_word word,
                       uint32_t *keys, const uint32_t *order, const void *x)
{
    int64_t n = c->outer * c->inner * c->size;
    if (n > 0)
        LAUNCH(top_k_keys, dim3(blocks_for(n)), dim3(THREADS), 0, stream, keys, order, x, *c, word);
}

void launch_top_k_sorted(cuda_stream stream, const launch_top_k_call *c, void *values,
                         int64_t *indices, const void *x, const uint32_t *order)
{
    int64_t n = c->outer * c->inner * c->k;
    if (n > 0)
        LAUNCH(top_k_long, dim3(blocks_for(n)), dim3(THREADS), 0, stream, values, indices, x, order,
               *c);
}
