/* What moves elements: boxes of them with strides on both sides, and what else only copies. */
#include "backend/cuda/kernels/move.h"
#include "backend/cuda/kernels/walk.cuh"

enum { THREADS = 256, SIDE = 32, ROWS = 8 };

/* --- one by one --- */

template <typename T> static KERNEL(THREADS, move, T *to, const T *from, walk<2> w)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < w.n))
        return;
    int64_t at[2];
    walk_to(at, w, i);
    to[at[0]] = from[at[1]];
}

template <typename T>
static void move_all(cuda_stream stream, void *to, const void *from, const axes *over)
{
    each_piece({*over, {0}, 0}, PIECE, [&](const piece &p) {
        walk<2> w = walk_of<2>(p.over, 1);
        LAUNCH(move<T>, blocks_of(w.n, THREADS), dim3(THREADS), 0, stream, (T *)to + p.first[0],
               (const T *)from + p.first[1], w);
    });
}

void launch_move(cuda_stream stream, size_t element, void *to, const void *from, const axes *over)
{
    switch (element) {
    case 1:
        move_all<uint8_t>(stream, to, from, over);
        break;
    case 2:
        move_all<uint16_t>(stream, to, from, over);
        break;
    case 4:
        move_all<uint32_t>(stream, to, from, over);
        break;
    case 8:
        move_all<uint2>(stream, to, from, over);
        break;
    default:
        move_all<uint4>(stream, to, from, over);
    }
}

/* --- a matrix turns --- */

/* Axis `down` of what is read goes on with neighbours, axis `across` of what is written; by tiles,
 * so that both are seen in rows. Matrices are those of the other axes, tiles of one follow each
 * other. */
struct transposed {
    int64_t down, across;         /* positions */
    int64_t to_down, from_across; /* strides */
    uint32_t tiles;
    divider down_tiles, matrix_tiles;
};

template <typename T>
static KERNEL((SIDE * ROWS), transpose, T *to, const T *from, walk<2> matrices, transposed t)
{
    SHARED(T, tile, [SIDE][SIDE + 1]);
    uint32_t matrix = quotient(t.matrix_tiles, blockIdx.x);
    uint32_t in_matrix = blockIdx.x - matrix * t.matrix_tiles.by;
    uint32_t across_tile = quotient(t.down_tiles, in_matrix);
    int64_t down = (int64_t)(in_matrix - across_tile * t.down_tiles.by) * SIDE;
    int64_t across = (int64_t)across_tile * SIDE;
    int x = (int)threadIdx.x, y = (int)threadIdx.y;
    int64_t at[2];
    walk_to(at, matrices, matrix);
    for (int k = y; k < SIDE; k += ROWS)
        if (down + x < t.down && across + k < t.across)
            tile[k][x] = from[at[1] + down + x + (across + k) * LD(t.from_across)];
    __syncthreads();
    for (int k = y; k < SIDE; k += ROWS)
        if (across + x < t.across && down + k < t.down)
            to[at[0] + across + x + (down + k) * LD(t.to_down)] = tile[x][k];
}

/* The axes but for `down` and the last. */
static axes matrices_of(const axes *over, int down)
{
    axes a = {};
    for (int i = 0; i < over->rank - 1; i++)
        if (i != down)
            axes_add(&a, 2, over->dim[i], over->stride[i]);
    axes_end(&a, 2);
    return a;
}

template <typename T>
static void turn_all(cuda_stream stream, void *to, const void *from, const axes *over, int down)
{
    int last = over->rank - 1;
    axes others = matrices_of(over, down);
    int64_t down_tiles = (over->dim[down] + SIDE - 1) / SIDE;
    int64_t matrix_tiles = down_tiles * ((over->dim[last] + SIDE - 1) / SIDE);
    transposed t = {over->dim[down],
                    over->dim[last],
                    over->stride[down][0],
                    over->stride[last][1],
                    (uint32_t)(matrix_tiles * axes_elements(&others)),
                    divider_of(down_tiles),
                    divider_of(matrix_tiles)};
    LAUNCH(transpose<T>, dim3(t.tiles), dim3(SIDE, ROWS), 0, stream, (T *)to, (const T *)from,
           walk_of<2>(others, 1), t);
}

void launch_transpose(cuda_stream stream, size_t element, void *to, const void *from,
                      const axes *over, int down)
{
    if (axes_elements(over) == 0)
        return;
    switch (element) {
    case 1:
        turn_all<uint8_t>(stream, to, from, over, down);
        break;
    case 2:
        turn_all<uint16_t>(stream, to, from, over, down);
        break;
    case 4:
        turn_all<uint32_t>(stream, to, from, over, down);
        break;
    default:
        turn_all<uint2>(stream, to, from, over, down);
    }
}

/* --- added --- */

static KERNEL(THREADS, add, float *to, const float *from, walk<2> w)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < w.n))
        return;
    int64_t at[2];
    walk_to(at, w, i);
    to[at[0]] += from[at[1]];
}

void launch_move_add(cuda_stream stream, float *to, const float *from, const axes *over)
{
    each_piece({*over, {0}, 0}, PIECE, [&](const piece &p) {
        walk<2> w = walk_of<2>(p.over, 1);
        LAUNCH(add, blocks_of(w.n, THREADS), dim3(THREADS), 0, stream, to + p.first[0],
               from + p.first[1], w);
    });
}

/* --- by position: rare, so plain divisions --- */

/* y may be x. */
template <typename T>
static KERNEL(THREADS, trilu, T *y, const T *x, launch_trilu_call c, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < n))
        return;
    int64_t row = i / c.cols, beside = i - row * c.cols - row % c.rows;
    bool stays = c.upper ? beside >= c.k : beside <= c.k;
    y[i] = stays ? x[i] : T{};
}

template <typename T>
static void trilu_all(cuda_stream stream, const launch_trilu_call *c, void *y, const void *x)
{
    int64_t n = c->matrices * c->rows * c->cols;
    LAUNCH(trilu<T>, blocks_of(n, THREADS), dim3(THREADS), 0, stream, (T *)y, (const T *)x, *c, n);
}

void launch_trilu(cuda_stream stream, const launch_trilu_call *c, void *y, const void *x)
{
    if (c->matrices * c->rows * c->cols == 0)
        return;
    if (c->element == 1)
        trilu_all<uint8_t>(stream, c, y, x);
    else if (c->element == 2)
        trilu_all<uint16_t>(stream, c, y, x);
    else if (c->element == 4)
        trilu_all<uint32_t>(stream, c, y, x);
    else
        trilu_all<uint64_t>(stream, c, y, x);
}

/* Where index i points, -1 for nowhere. */
static __device__ __forceinline__ int64_t hot_at(const launch_one_hot_call *c, const void *indices,
                                                 int64_t i)
{
    int64_t at;
    if (c->index == DT_F32) {
        float x = ((const float *)indices)[i];
        if (!(x >= (float)-c->depth && x < (float)c->depth))
            return -1;
        at = (int64_t)x;
    } else {
        at = c->index == DT_I64 ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
    }
    if (at < -c->depth || at >= c->depth)
        return -1;
    return at < 0 ? at + c->depth : at;
}

template <typename T>
static KERNEL(THREADS, one_hot, T *y, const void *indices, launch_one_hot_call c, T off, T on,
              int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < n))
        return;
    int64_t above = i / c.inner, inner = i - above * c.inner;
    int64_t outer = above / c.depth, position = above - outer * c.depth;
    y[i] = hot_at(&c, indices, outer * LD(c.inner) + inner) == position ? on : off;
}

template <typename T>
static void one_hot_all(cuda_stream stream, const launch_one_hot_call *c, void *y,
                        const void *indices)
{
    T off, on;
    memcpy(&off, c->off, sizeof off);
    memcpy(&on, c->on, sizeof on);
    int64_t n = c->outer * c->depth * c->inner;
    LAUNCH(one_hot<T>, blocks_of(n, THREADS), dim3(THREADS), 0, stream, (T *)y, indices, *c, off,
           on, n);
}

void launch_one_hot(cuda_stream stream, const launch_one_hot_call *c, void *y, const void *indices)
{
    if (c->outer * c->depth * c->inner == 0)
        return;
    if (c->element == 1)
        one_hot_all<uint8_t>(stream, c, y, indices);
    else if (c->element == 4)
        one_hot_all<uint32_t>(stream, c, y, indices);
    else
        one_hot_all<uint64_t>(stream, c, y, indices);
}

/* The length of an example; 0, and a word about it, where it is none. */
static __device__ __forceinline__ int64_t length_of(const launch_reverse_call *c,
                                                    const void *lengths, int64_t example)
{
    int64_t n = c->wide ? ((const int64_t *)lengths)[example] : ((const int32_t *)lengths)[example];
    if (n >= 0 && n <= c->steps)
        return n;
    atomic_min_u64(c->fault.word,
                   c->fault.node | (uint64_t)(example < UINT32_MAX ? example : UINT32_MAX));
    return 0;
}

/* A thread a piece of y; `pieces` in a run. */
template <typename T>
static KERNEL(THREADS, reverse, T *y, const T *x, const void *lengths, launch_reverse_call c,
              int64_t pieces)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < c.steps * c.examples * pieces))
        return;
    int64_t run = i / pieces, piece = i - run * pieces;
    int64_t example = c.batch_first ? run / c.steps : run % c.examples;
    int64_t step = c.batch_first ? run % c.steps : run / c.examples;
    int64_t length = length_of(&c, lengths, example);
    int64_t from = step < length ? length - 1 - step : step;
    from = c.batch_first ? example * LD(c.steps) + from : from * LD(c.examples) + example;
    y[i] = x[from * pieces + piece];
}

template <typename T>
static void reverse_all(cuda_stream stream, const launch_reverse_call *c, void *y, const void *x,
                        const void *lengths)
{
    int64_t pieces = c->bytes / (int64_t)sizeof(T);
    LAUNCH(reverse<T>, blocks_of(c->steps * c->examples * pieces, THREADS), dim3(THREADS), 0,
           stream, (T *)y, (const T *)x, lengths, *c, pieces);
}

void launch_reverse(cuda_stream stream, const launch_reverse_call *c, void *y, const void *x,
                    const void *lengths)
{
    if (c->steps * c->examples * c->bytes == 0)
        return;
    if (c->bytes % 16 == 0)
        reverse_all<uint4>(stream, c, y, x, lengths);
    else if (c->bytes % 4 == 0)
        reverse_all<uint32_t>(stream, c, y, x, lengths);
    else
        reverse_all<uint8_t>(stream, c, y, x, lengths);
}
