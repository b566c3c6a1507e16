/*
 * Numbers in the order of their keys, equal ones as they stood: by the digits of the keys, the
 * least first. A pass of one digit is three kernels: a block counts the digits of its tile, one
 * block turns counts into places, digits first and then tiles, and a block puts the numbers of its
 * tile there. A single tile needs the last of them alone. There is nothing in it that could come
 * out differently.
 */
#include "backend/cuda/kernels/scan.cuh"
#include "backend/cuda/kernels/sort.h"

enum { THREADS = 256, WARPS = THREADS / 32, EACH = 16, TILE = THREADS * EACH, DIGITS = 256 };
enum { SCAN_THREADS = 1024, SCAN_EACH = 4 };
static_assert((int)THREADS == (int)DIGITS, "a thread has a digit");

struct pass {
    const uint32_t *keys, *from; /* from: NULL for 0, 1, 2, ... */
    uint32_t *sorted, *order;
    int64_t n;
    int shift, bits;  /* of the digit */
    uint32_t *counts; /* [DIGITS][tiles], then where the first goes */
};

/* The lanes whose digit is this one's, of those that have any. */
static __device__ __forceinline__ uint32_t alike(uint32_t digit, int bits, bool is_there)
{
    uint32_t lanes = __ballot_sync(0xffffffffu, is_there);
    for (int b = 0; b < bits; b++) {
        bool is_set = digit >> b & 1;
        uint32_t set = __ballot_sync(0xffffffffu, is_set);
        lanes &= is_set ? set : ~set;
    }
    return lanes;
}

struct ranked {
    uint32_t key[EACH], rank[EACH];
};

static __device__ __forceinline__ int64_t tile_at(int round)
{
    int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    return (warp * EACH + round) * 32 + threadIdx.x % 32;
}
static __device__ __forceinline__ uint32_t digit_of(const pass &p, uint32_t key)
{
    return key >> p.shift & ((1u << p.bits) - 1);
}

/* A warp has a row of the tile: how often each digit stands in it, and of each of its numbers how
 * often its digit stands before it. */
static __device__ __forceinline__ void rank_tile(const pass &p, uint32_t (*seen)[DIGITS],
                                                 ranked *ret)
{
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    for (int d = lane; d < DIGITS; d += 32)
        seen[warp][d] = 0;
    __syncwarp();
#pragma unroll
    for (int round = 0; round < EACH; round++) {
        int64_t at = tile_at(round);
        bool is_there = at < p.n;
        uint32_t key = is_there ? p.keys[at] : 0, digit = digit_of(p, key);
        uint32_t lanes = alike(digit, p.bits, is_there), below = lanes & ((1u << lane) - 1);
        uint32_t before = seen[warp][digit];
        __syncwarp();
        if (is_there && below == 0)
            seen[warp][digit] = before + (uint32_t)__popc(lanes);
        __syncwarp();
        ret->key[round] = key;
        ret->rank[round] = before + (uint32_t)__popc(below);
    }
}

static KERNEL(THREADS, count, pass p)
{
    SHARED(uint32_t, seen, [WARPS][DIGITS]);
    ranked r;
    rank_tile(p, seen, &r);
    __syncthreads();
    uint32_t all = 0;
    for (int w = 0; w < WARPS; w++)
        all += seen[w][threadIdx.x];
    p.counts[threadIdx.x * LD((int64_t)gridDim.x) + blockIdx.x] = all;
}

/* Each count becomes the sum of those before it. */
static KERNEL(SCAN_THREADS, place, uint32_t *counts, int64_t n)
{
    uint32_t before = 0;
    for (int64_t begin = 0; begin < n; begin += SCAN_THREADS * SCAN_EACH) {
        int64_t at = begin + (int64_t)threadIdx.x * SCAN_EACH;
        uint32_t mine[SCAN_EACH], sum = 0, all;
        for (int i = 0; i < SCAN_EACH; i++) {
            mine[i] = at + i < n ? counts[at + i] : 0;
            sum += mine[i];
        }
        sum = before + block_before<SCAN_THREADS>(sum, &all);
        for (int i = 0; i < SCAN_EACH; i++) {
            if (at + i < n)
                counts[at + i] = sum;
            sum += mine[i];
        }
        before += all;
    }
}

/* ALONE: there is one tile, and nobody has counted. */
template <bool ALONE> static KERNEL(THREADS, move, pass p)
{
    SHARED(uint32_t, seen, [WARPS][DIGITS]);
    ranked r;
    rank_tile(p, seen, &r);
    __syncthreads();
    uint32_t to = 0, all = 0;
    for (int w = 0; w < WARPS; w++)
        all += seen[w][threadIdx.x];
    to = ALONE ? block_before<THREADS>(all, &all)
               : p.counts[threadIdx.x * LD((int64_t)gridDim.x) + blockIdx.x];
    for (int w = 0; w < WARPS; w++) {
        uint32_t mine = seen[w][threadIdx.x];
        seen[w][threadIdx.x] = to;
        to += mine;
    }
    __syncthreads();
#pragma unroll
    for (int round = 0; round < EACH; round++) {
        int64_t at = tile_at(round);
        uint32_t i = seen[threadIdx.x / 32][digit_of(p, r.key[round])] + r.rank[round];
        if (at < p.n) {
            p.sorted[i] = r.key[round];
            p.order[i] = p.from ? p.from[at] : (uint32_t)at;
        }
    }
}

static int64_t tiles_of(int64_t n)
{
    return (n + TILE - 1) / TILE;
}

static void launch_pass(cuda_stream stream, const pass *p)
{
    unsigned tiles = (unsigned)tiles_of(p->n);
    if (tiles == 1) {
        LAUNCH(move<true>, dim3(1), dim3(THREADS), 0, stream, *p);
        return;
    }
    LAUNCH(count, dim3(tiles), dim3(THREADS), 0, stream, *p);
    LAUNCH(place, dim3(1), dim3(SCAN_THREADS), 0, stream, p->counts, (int64_t)DIGITS * tiles);
    LAUNCH(move<false>, dim3(tiles), dim3(THREADS), 0, stream, *p);
}

size_t launch_sort_workspace_bytes(int64_t n)
{
    return (size_t)(2 * n + DIGITS * tiles_of(n)) * sizeof(uint32_t);
}

/* Passes go from the keys to the result or the workspace, and from the one to the other, so that
 * the last one makes the result. */
void launch_sort(cuda_stream stream, const launch_sort_call *c)
{
    if (c->n == 0)
        return;
    uint32_t *workspace = (uint32_t *)c->workspace;
    int passes = (c->bits + 7) / 8, bits = (c->bits + passes - 1) / passes;
    pass p = {.keys = c->keys,
              .from = c->from,
              .sorted = NULL,
              .order = NULL,
              .n = c->n,
              .shift = 0,
              .bits = bits,
              .counts = workspace + 2 * c->n};
    for (int left = passes; left > 0; left--) {
        p.sorted = left % 2 ? c->sorted : workspace;
        p.order = left % 2 ? c->order : workspace + c->n;
        launch_pass(stream, &p);
        p.keys = p.sorted;
        p.from = p.order;
        p.shift += bits;
    }
}
