/*
 * What attention by a library needs around it: a mask as floats that it can add, the rows of queries that may
 * look at no key, which it does not know, and a seed for its random numbers.
 */
#include "backend/cuda/kernels/attention.cuh"
#include "backend/cuda/kernels/rows.cuh"

enum { BIAS_THREADS = 256 };

/* What is added where a key is not looked at: its exponential is 0 beside any other, and unlike -infinity it
 * stays a number when it is scaled or the row's largest is taken from it. */
#define LEAST_BIAS -1e30f

static KERNEL(BIAS_THREADS, attention_bias, float *bias, const void *mask, bool chooses, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * BIAS_THREADS + threadIdx.x;
    for (; i < n; i += (int64_t)gridDim.x * BIAS_THREADS) {
        float x = !chooses                       ? ((const float *)mask)[i]
                  : ((const uint8_t *)mask)[i] ? 0.0f
                                               : LEAST_BIAS;
        bias[i] = x < LEAST_BIAS ? LEAST_BIAS : x;
    }
}

static __device__ __forceinline__ bool shows(const launch_attention &t, const attention_rule &r, int key)
{
    uint64_t at = attention_mask_at(r, 0, key);
    return t.mask_chooses ? ((const uint8_t *)r.mask)[at] != 0 : ((const float *)r.mask)[at] != -INFINITY;
}

/* Whether the query of the rule looks at a key; the same for all threads of a warp. */
static __device__ __forceinline__ bool looks(const launch_attention &t, const attention_rule &r, int64_t keys)
{
    bool any = false;
    for (int64_t first = 0; first < keys && !any; first += 32) {
        bool one = false;
        if (IN(first + threadIdx.x < keys))
            one = shows(t, r, (int)(first + threadIdx.x));
        any = __any_sync(0xffffffffu, one);
    }
    return any;
}

static KERNEL(32 * ROW_WARPS, attention_blind_rows, launch_attention t)
{
    int64_t rows = t.batch * t.q_heads * t.q_length;
    for (int64_t row = row_first(); row < rows; row += row_step()) {
        int64_t query = row % t.q_length, head = row / t.q_length % t.q_heads;
        int64_t batch = row / t.q_length / t.q_heads;
        if (looks(t, attention_rule_of(t, batch, head, query, 0), attention_limit(t, query + 1)))
            continue;
        uint16_t *y = (uint16_t *)t.y + batch * LD(t.y_layout.batch) + head * LD(t.y_layout.head) +
                      query * LD(t.y_layout.position);
        for (int64_t i = threadIdx.x; i < t.v_head; i += 32)
            y[i] = 0;
        if (threadIdx.x == 0)
            t.lse[row] = INFINITY;
    }
}

static KERNEL(1, attention_seed, int64_t *seed, launch_dropout d)
{
    uint64_t mixed = philox_mix(d.key, philox_mix(d.stream, (uint64_t)*d.batch));
    seed[0] = (int64_t)(mixed >> 1);
    seed[2] = 0;
}

void launch_attention_bias(cuda_stream stream, float *bias, const void *mask, bool chooses, int64_t n)
{
    if (n > 0)
        LAUNCH(attention_bias, dim3(blocks_for(n, BIAS_THREADS)), dim3(BIAS_THREADS), 0, stream, bias, mask,
               chooses, n);
}

void launch_attention_blind_rows(cuda_stream stream, const launch_attention *t)
{
    int64_t rows = t->batch * t->q_heads * t->q_length;
    if (rows > 0)
        LAUNCH(attention_blind_rows, dim3(blocks_for(rows, ROW_WARPS)), dim3(32, ROW_WARPS), 0, stream, *t);
}

void launch_attention_seed(cuda_stream stream, int64_t *seed, const launch_dropout *d)
{
    LAUNCH(attention_seed, dim3(1), dim3(1), 0, stream, seed, *d);
}
