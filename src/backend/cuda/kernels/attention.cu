/*
 * Attention, forward, as FlashAttention-2 has it (Dao, 2023): a block keeps a tile of queries while
 * the keys and values go by in tiles, in ascending order, with a running maximum and sum a row
 * (Milakov and Gimelshein, "Online normalizer calculation for softmax"). No tensor of all scores is
 * made, and nothing depends on the order of blocks.
 */
#include "backend/cuda/kernels/attention_choice.cuh"

/* What the rows of a thread have seen so far. The sum is of its own columns alone. */
template <class E> struct running {
    float max[E::HELD], sum[E::HELD];
};

/* By how much the sums and results of row i so far, over an older maximum, have to shrink. */
template <class E>
static __device__ __forceinline__ float raise_maximum(running<E> &seen, const float *s, int i,
                                                      float *ret_base)
{
    float top = seen.max[i];
#pragma unroll
    for (int j = 0; j < E::SPREAD; j++)
        top = fmaxf(top, s[j]);
#pragma unroll
    for (int lanes = 1; lanes < E::LANES; lanes *= 2)
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, lanes));
    *ret_base = top == -INFINITY ? 0.0f : top; /* nothing looked at yet: powers are 0 over any */
    float by = exp2_fast((seen.max[i] - *ret_base) * LOG2_E);
    seen.max[i] = top;
    return by;
}

/* Scores to exponentials over the largest so far, what has been added up shrunk to match. */
template <class E>
static __device__ __forceinline__ void soften(float s[E::HELD][E::SPREAD],
                                              float y[E::HELD][E::WIDE], running<E> &seen)
{
#pragma unroll
    for (int i = 0; i < E::HELD; i++) {
        float base, by = raise_maximum<E>(seen, s[i], i, &base), sum = 0.0f;
#pragma unroll
        for (int j = 0; j < E::SPREAD; j++) {
            s[i][j] = exp2_fast((s[i][j] - base) * LOG2_E);
            sum += s[i][j];
        }
        seen.sum[i] = fmaf(seen.sum[i], by, sum);
#pragma unroll
        for (int j = 0; j < E::WIDE; j++)
            y[i][j] *= by;
    }
}

template <class E>
static __device__ __forceinline__ void drop(float s[E::HELD][E::SPREAD], const launch_attention &t,
                                            const drop_rule &r, const philox &words)
{
    typedef drop_tile<E::ROWS, E::COLUMNS> tile_type;
    SHARED(tile_type, tile, [1]);
    drop_draw<E::THREADS>(tile[0], r, words, t.drop.threshold);
    attention_tile<E, false>::each(
        s, [&](float &p, int i, int j) { p *= drop_factor(tile[0], r, i, j); });
}

template <class E>
static __device__ __forceinline__ void
write_rows(const launch_attention &t, const attention_place &at, const float y[E::HELD][E::WIDE],
           const running<E> &seen)
{
    int first_column = (int)blockIdx.z * E::WIDTH;
#pragma unroll
    for (int i = 0; i < E::HELD; i++) {
        float sum = seen.sum[i];
#pragma unroll
        for (int lanes = 1; lanes < E::LANES; lanes *= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
        int64_t query = at.first + E::row(i);
        if (IN(query < t.q_length)) {
            int64_t to = at.batch * LD(t.y_layout.batch) + at.head * LD(t.y_layout.head) +
                         query * LD(t.y_layout.position);
            float by = sum == 0.0f ? 0.0f : 1.0f / sum;
#pragma unroll
            for (int j = 0; j < E::WIDE; j++) {
                int column = first_column + E::column(j);
                if (IN(column < t.v_head))
                    put_result(t.y, t.results, to + column, y[i][j] * by);
            }
            if (blockIdx.z == 0 && E::column(0) == 0)
                t.lse[(at.batch * t.q_heads + at.head) * t.q_length + query] =
                    sum == 0.0f ? INFINITY : seen.max[i] + logf(sum);
        }
    }
}

/* grid: tiles of queries of every head and batch, 1, tiles of the values' columns */
template <class E> static KERNEL_BLOCKS(E::THREADS, E::BLOCKS, attend, launch_attention t)
{
    if constexpr (E::NEEDS_SM_80 && BEFORE_SM_80)
        return;
    attention_place at = attention_place_of(t.q_length, t.q_heads, E::ROWS, true);
    philox words = philox_of(t.drop);
    int64_t limit = attention_limit(t, at.first + E::ROWS), kv = at.head / (t.q_heads / t.kv_heads);
    auto keys = [&](int64_t first) {
        return matrix_of(t.k, t.operands, t.k_layout, at.batch, kv, first, limit, t.head);
    };
    auto values = [&](int64_t first) {
        return matrix_of(t.v, t.operands, t.v_layout, at.batch, kv, first, limit, t.v_head);
    };
    E engine;
    running<E> seen;
    float y[E::HELD][E::WIDE] = {};
#pragma unroll
    for (int i = 0; i < E::HELD; i++) {
        seen.max[i] = -INFINITY;
        seen.sum[i] = 0.0f;
    }
    engine.fetch(STAYS, matrix_of(t.q, t.operands, t.q_layout, at.batch, at.head, at.first,
                                  t.q_length, t.head));
    engine.fetch(PASSES, keys(0));
    engine.commit();
    engine.fetch(PASSES_TOO, values(0));
    engine.commit();
    for (int64_t key = 0; key < limit; key += E::COLUMNS) {
        float s[E::HELD][E::SPREAD];
        engine.template arrive<1>();
        engine.dot(s, STAYS, PASSES);
        engine.leave();
        if (key + E::COLUMNS < limit)
            engine.fetch(PASSES, keys(key + E::COLUMNS));
        engine.commit();
        attention_score<attention_tile<E, false>, E>(
            s, attention_rule_of(t, at.batch, at.head, at.first, key));
        soften<E>(s, y, seen);
        if (t.drop.batch)
            drop<E>(s, t, drop_rule_of(t, at.batch, at.head, at.first, key), words);
        engine.template arrive<1>();
        engine.add(y, s, PASSES_TOO, (int)blockIdx.z * E::WIDTH);
        engine.leave();
        if (key + E::COLUMNS < limit)
            engine.fetch(PASSES_TOO, values(key + E::COLUMNS));
        engine.commit();
    }
    write_rows<E>(t, at, y, seen);
}

template <class E> static void start(cuda_stream stream, const launch_attention *t)
{
    int64_t tiles = tiles_of(t->q_length, E::ROWS) * t->q_heads * t->batch;
    dim3 grid((unsigned)tiles, 1, (unsigned)tiles_of(t->v_head, E::WIDTH));
    launch_attention with = *t;
    if (tiles == 0)
        return;
    ALLOW_SHARED(attend<E>, E::shared(1));
    LAUNCH(attend<E>, grid, dim3(E::THREADS), E::shared(1), stream, with);
}

void launch_attention_forward(cuda_stream stream, const launch_attention *t)
{
    attention_choose(*t, 1, [&](auto e) { start<typename decltype(e)::type>(stream, t); });
}
