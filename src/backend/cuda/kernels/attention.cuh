/*
 * What the kernels of attention share: which rows a block works on, what a score becomes by scale
 * and masks, and which probabilities dropout keeps.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_ATTENTION_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_ATTENTION_CUH

#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/kernels/philox.cuh"

#define LOG2_E 1.4426950408889634f

/* Rows of an operand; what is asked for beyond them, or beyond the width, counts as zero. */
struct matrix {
    const void *at;
    int64_t stride; /* elements from row to row */
    int64_t rows;   /* below 1: none */
    int width;
    launch_type type;
};

/* Rows first .. length - 1 of a head. */
static __device__ __forceinline__ matrix matrix_of(const void *x, launch_type type,
                                                   const launch_layout &layout, int64_t batch,
                                                   int64_t head, int64_t first, int64_t length,
                                                   int64_t width)
{
    int64_t at = batch * LD(layout.batch) + head * LD(layout.head) + first * LD(layout.position);
    int64_t bytes = type == LAUNCH_F32 ? sizeof(float) : sizeof(uint16_t);
    return {(const char *)x + (ptrdiff_t)(at * bytes), layout.position, length - first, (int)width,
            type};
}

static __device__ __forceinline__ float matrix_element(const matrix &m, int row, int column)
{
    int64_t at = row * LD(m.stride) + column;
    return m.type == LAUNCH_F32    ? ((const float *)m.at)[at]
           : m.type == LAUNCH_BF16 ? to_float(((const bf16 *)m.at)[at])
                                   : to_float(((const f16 *)m.at)[at]);
}

static __device__ __forceinline__ void put_result(void *y, launch_type type, int64_t at, float x)
{
    if (type == LAUNCH_F32)
        ((float *)y)[at] = x;
    else if (type == LAUNCH_BF16)
        ((bf16 *)y)[at] = bf16_of(x);
    else
        ((f16 *)y)[at] = f16_of(x);
}

/* A block's tile: rows from `first` on, of one head of one batch. Blocks count the tiles of a head
 * first. */
struct attention_place {
    int64_t batch, head, first;
};

static __device__ __forceinline__ attention_place attention_place_of(int64_t length, int64_t heads,
                                                                     int rows, bool last_first)
{
    int64_t tiles = (length + rows - 1) / rows, item = blockIdx.x / tiles;
    int64_t tile = blockIdx.x % tiles;
    return {item / heads, item % heads, (last_first ? tiles - 1 - tile : tile) * rows};
}

/* What the scores of a tile of queries and keys have to go by; numbers are counted from its first
 * query and key. */
struct attention_rule {
    const void *mask; /* of the head */
    uint64_t by_query, by_key;
    uint32_t query, key; /* the first ones */
    int queries, keys;   /* that there are */
    int diagonal;        /* query i looks at keys up to i + diagonal */
    float scale;
    bool chooses;
};

/* n, or the nearest int that may be added to the number of a row */
static __device__ __forceinline__ int near_int(int64_t n)
{
    return n > (1 << 30) ? 1 << 30 : n < -(1 << 30) ? -(1 << 30) : (int)n;
}

static __device__ __forceinline__ attention_rule attention_rule_of(const launch_attention &t,
                                                                   int64_t batch, int64_t head,
                                                                   int64_t query, int64_t key)
{
    int64_t at = batch * LD(t.mask_stride[0]) + head * LD(t.mask_stride[1]);
    size_t bytes = t.mask_chooses ? sizeof(uint8_t) : sizeof(float);
    return {t.mask ? (const char *)t.mask + (size_t)at * bytes : NULL,
            (uint64_t)LD(t.mask_stride[2]),
            (uint64_t)LD(t.mask_stride[3]),
            (uint32_t)query,
            (uint32_t)key,
            near_int(t.q_length - query),
            near_int(t.k_length - key),
            t.causal ? near_int(t.past + query - key) : 1 << 30,
            t.scale,
            t.mask_chooses};
}

/*
 * What an engine E (attention_ffma.cuh) has of a tile of scores: s[i][j] is of query(i, j) and key
 * key(i, j). TRANSPOSED: keys are its rows.
 */
template <class E, bool TRANSPOSED> struct attention_tile {
    enum { ROWS = TRANSPOSED ? E::COLUMNS : E::ROWS, COLUMNS = TRANSPOSED ? E::ROWS : E::COLUMNS };

    static __device__ __forceinline__ int query(int i, int j)
    {
        return TRANSPOSED ? E::column(j) : E::row(i);
    }
    static __device__ __forceinline__ int key(int i, int j)
    {
        return TRANSPOSED ? E::row(i) : E::column(j);
    }

    /* f(number, query, key) of all of them, one after the other. */
    template <typename F>
    static __device__ __forceinline__ void each(float s[E::HELD][E::SPREAD], F f)
    {
#pragma unroll
        for (int i = 0; i < E::HELD; i++)
#pragma unroll
            for (int j = 0; j < E::SPREAD; j++)
                f(s[i][j], query(i, j), key(i, j));
    }
};

/* Where the number of query i and key j is in the mask; in 32 bits as far as possible, so that the
 * compiler does not keep a place in registers for all of them. */
static __device__ __forceinline__ uint64_t attention_mask_at(const attention_rule &r, int i, int j)
{
    return (r.query + (uint32_t)i) * r.by_query + (r.key + (uint32_t)j) * r.by_key;
}

/* Dot products to scores: scaled and masked, -infinity where the query does not look at the key. */
template <class TILE, class E>
static __device__ __forceinline__ void attention_score(float s[E::HELD][E::SPREAD],
                                                       const attention_rule &r)
{
    TILE::each(s, [&](float &x, int i, int j) {
        bool looks = IN(i < r.queries) && IN(j < r.keys) && j - i <= r.diagonal;
        x = looks ? x * r.scale : -INFINITY;
    });
    if (r.mask && r.chooses)
        TILE::each(s, [&](float &x, int i, int j) {
            if (x != -INFINITY && !((const uint8_t *)r.mask)[attention_mask_at(r, i, j)])
                x = -INFINITY;
        });
    else if (r.mask)
        TILE::each(s, [&](float &x, int i, int j) {
            if (x != -INFINITY)
                x += ((const float *)r.mask)[attention_mask_at(r, i, j)];
        });
}

/* How many keys, from the first on, the queries before `end` look at. */
static __device__ __forceinline__ int64_t attention_limit(const launch_attention &t, int64_t end)
{
    return t.causal && t.past + end < t.k_length ? t.past + end : t.k_length;
}

/*
 * Which probabilities of a tile of QUERIES x KEYS dropout keeps. The bits of four neighbouring
 * elements come from one block of Philox, so the threads draw whole blocks for all of them.
 */
template <int QUERIES, int KEYS> struct drop_tile {
    enum { FOURS = KEYS / 4 + 1, PITCH = FOURS + 3 };
    uint8_t kept[QUERIES][PITCH]; /* four bits each */
};

/* The tile's first score, and how many there are from query to query. */
struct drop_rule {
    uint64_t first, by_query;
    float scale;
};

static __device__ __forceinline__ drop_rule drop_rule_of(const launch_attention &t, int64_t batch,
                                                         int64_t head, int64_t query, int64_t key)
{
    int64_t row = (batch * t.q_heads + head) * t.q_length + query;
    return {(uint64_t)(row * LD(t.k_length) + key), (uint64_t)t.k_length, t.drop.scale};
}

/* To be called by all of the block's threads, a barrier after the last use. */
template <int THREADS, int QUERIES, int KEYS>
__device__ __forceinline__ void drop_draw(drop_tile<QUERIES, KEYS> &tile, const drop_rule &r,
                                          const philox &words, uint32_t threshold)
{
    constexpr int FOURS = drop_tile<QUERIES, KEYS>::FOURS;
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < QUERIES * FOURS; i += THREADS) {
        uint64_t block = (r.first + (uint64_t)(i / FOURS) * r.by_query) / 4 + (uint64_t)(i % FOURS);
        tile.kept[i / FOURS][i % FOURS] = (uint8_t)philox_kept(words, block, threshold);
    }
    __syncthreads();
}

/* What the probability of query i and key j is multiplied by. */
template <int QUERIES, int KEYS>
__device__ __forceinline__ float drop_factor(const drop_tile<QUERIES, KEYS> &tile,
                                             const drop_rule &r, int i, int j)
{
    int bit = (int)(((uint32_t)r.first + (uint32_t)i * (uint32_t)r.by_query) % 4) + j;
    return tile.kept[i][bit / 4] >> bit % 4 & 1 ? r.scale : 0.0f;
}

#endif
