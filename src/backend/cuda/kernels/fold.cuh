/*
 * Folds over some axes of a tensor (backend/reduce_space.h). With a reduced last axis a result is a
 * warp's or a block's, with a kept one four neighbours are a column of threads', of which each
 * takes every so manieth position. Where results are few, what falls into one is cut into pieces:
 * their states lie in `workspace`, [pieces, results], and are joined by a second kernel, always in the
 * same way. So the order of every sum follows from the shape and the number of pieces.
 *
 * A fold F is a struct of pointers with
 *   F::state                          32-bit words, of a fold that is under way
 *   none()                            of no number
 *   join(a, b)                        of both, in either order
 *   one(state *s, at, k)              takes the number at `at`, which falls into result k
 *   piece, fetch(at, i, n)            columns i .. i + 3 of the n behind `at`, on their way from memory;
 *                                     AHEAD of them at a time
 *   four(state s[4], piece, at, i, n, k)  takes them; they fall into results k + i and on, and what
 *                                     beyond n is taken does not count
 *   put(k, state)                     the result
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_FOLD_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_FOLD_CUH

#include "backend/cuda/kernels/rows.cuh"
#include "backend/reduce_space.h"

enum {
    FOLD_THREADS = 256,
    FOLD_LANES = 32,
    FOLD_ROWS = FOLD_THREADS / FOLD_LANES,
    FOLD_AHEAD = 4, /* what most folds have on their way at a time */
};

/* The state of result k: of all there is, or of this block's piece. */
template <typename F>
__device__ __forceinline__ void fold_put(const F &f, typename F::state *workspace, int64_t k,
                                         int64_t width, typename F::state s)
{
    if (gridDim.y > 1)
        workspace[blockIdx.y * LD(width) + k] = s;
    else
        f.put(k, s);
}

/* The numbers of a row that one thread takes, `THREADS` from one to the next. */
struct fold_walk {
    int64_t row, column, begin; /* of the reduced positions; where the row begins */
};

__device__ __forceinline__ void fold_walk_on(fold_walk *w, const reduce_space *s, int64_t rows,
                                             int64_t columns)
{
    int64_t row = w->row + rows;
    w->column += columns;
    if (w->column >= s->last) {
        w->column -= s->last;
        row++;
    }
    if (row != w->row)
        w->begin = reduce_offset(&s->reduced, row);
    w->row = row;
}

template <typename F, int THREADS>
static KERNEL(ROW_BLOCK<THREADS>, fold_rows, F f, typename F::state *workspace, reduce_space s,
              int64_t piece)
{
    int64_t depth = reduce_depth(&s), first = blockIdx.y * piece;
    int64_t stop = first + piece < depth ? first + piece : depth;
    int64_t rows = THREADS / s.last, columns = THREADS % s.last;
    int64_t row = (first + threadIdx.x) / s.last;
    for (int64_t k = row_first(); k < s.kept.count; k += row_step()) {
        int64_t own = reduce_offset(&s.kept, k);
        typename F::state acc = f.none();
        fold_walk w = {row, first + threadIdx.x - row * s.last, reduce_offset(&s.reduced, row)};
        for (int64_t i = first + threadIdx.x; i < stop; i += THREADS) {
            f.one(&acc, own + w.begin + w.column, k);
            fold_walk_on(&w, &s, rows, columns);
        }
        acc = row_fold<THREADS>(
            acc, f.none(), [](typename F::state a, typename F::state b) { return F::join(a, b); });
        if (threadIdx.x == 0)
            fold_put(f, workspace, k, s.kept.count, acc);
    }
}

template <typename F>
static KERNEL(FOLD_THREADS, fold_columns, F f, typename F::state *workspace, reduce_space s,
              int64_t piece)
{
    SHARED(typename F::state, part, [4][FOLD_THREADS]);
    int64_t first = blockIdx.y * piece;
    int64_t stop = first + piece < s.reduced.count ? first + piece : s.reduced.count;
    int64_t across = (s.last + 4 * blockDim.x - 1) / (4 * blockDim.x);
    int me = (int)(threadIdx.y * blockDim.x + threadIdx.x);
    for (int64_t tile = blockIdx.x; tile < across * s.kept.count; tile += gridDim.x) {
        int64_t k = tile / across, column = 4 * (tile % across * blockDim.x + threadIdx.x);
        int64_t own = reduce_offset(&s.kept, k);
        typename F::state acc[4] = {f.none(), f.none(), f.none(), f.none()};
        for (int64_t i = first + threadIdx.y; i < stop; i += F::AHEAD * blockDim.y) {
            typename F::piece ahead[F::AHEAD];
            int64_t at[F::AHEAD];
#pragma unroll
            for (int j = 0; j < F::AHEAD; j++)
                if (i + j * blockDim.y < stop) {
                    at[j] = own + LD(reduce_offset(&s.reduced, i + j * blockDim.y));
                    ahead[j] = f.fetch(at[j], column, s.last);
                }
#pragma unroll
            for (int j = 0; j < F::AHEAD; j++)
                if (i + j * blockDim.y < stop)
                    f.four(acc, ahead[j], at[j], column, s.last, k * s.last);
        }
        for (int j = 0; j < 4; j++)
            part[j][me] = acc[j];
        for (int half = (int)blockDim.y / 2; half > 0; half /= 2) {
            __syncthreads();
            if ((int)threadIdx.y < half)
                for (int j = 0; j < 4; j++)
                    part[j][me] = F::join(part[j][me], part[j][me + half * (int)blockDim.x]);
        }
        for (int j = 0; j < 4 && threadIdx.y == 0; j++)
            if (IN(column + j < s.last))
                fold_put(f, workspace, k * s.last + column + j, reduce_width(&s), part[j][me]);
        __syncthreads(); /* the next tile's states take their places */
    }
}

/* The pieces of a result are a column of threads': each joins every so manieth in ascending order, and what
 * they come to is joined by a tree. */
template <typename F>
static KERNEL(FOLD_THREADS, fold_pieces, F f, const typename F::state *workspace, int64_t width,
              int pieces)
{
    SHARED(typename F::state, part, [FOLD_THREADS]);
    int64_t k = (int64_t)blockIdx.x * FOLD_LANES + threadIdx.x;
    int row = (int)threadIdx.y, me = row * FOLD_LANES + (int)threadIdx.x;
    if (k < width && row < pieces) {
        typename F::state s = workspace[row * LD(width) + k];
#pragma unroll 4
        for (int i = row + FOLD_ROWS; i < pieces; i += FOLD_ROWS)
            s = F::join(s, workspace[i * LD(width) + k]);
        part[me] = s;
    }
    for (int half = FOLD_ROWS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (k < width && row < half && row + half < pieces)
            part[me] = F::join(part[me], part[me + half * FOLD_LANES]);
    }
    if (row == 0 && IN(k < width))
        f.put(k, part[me]);
}

/* As many lanes as there are fours of columns, up to a warp's. */
static inline dim3 fold_block(int64_t last)
{
    unsigned lanes = 1;
    while (lanes < FOLD_LANES && 4 * (int64_t)lanes < last)
        lanes *= 2;
    return dim3(lanes, FOLD_THREADS / lanes);
}

template <typename F>
static void fold_join(cuda_stream stream, int64_t width, int pieces, const void *workspace, F f)
{
    if (pieces > 1)
        LAUNCH(fold_pieces<F>, dim3((unsigned)((width + FOLD_LANES - 1) / FOLD_LANES)),
               dim3(FOLD_LANES, FOLD_ROWS), 0, stream, f, (const typename F::state *)workspace,
               width, pieces);
}

/* With a reduced last axis; f has no need of four(). `workspace` is of pieces > 1 alone. */
template <typename F>
static void fold_along(cuda_stream stream, const reduce_space *s, int pieces, void *workspace, F f)
{
    int64_t width = reduce_width(s), piece = (reduce_depth(s) + pieces - 1) / pieces;
    if (width == 0)
        return;
    with_rows(s->kept.count, piece, [&](auto threads, dim3 grid, dim3 block) {
        grid.y = (unsigned)pieces;
        LAUNCH((fold_rows<F, decltype(threads)::value>), grid, block, 0, stream, f,
               (typename F::state *)workspace, *s, piece);
    });
    fold_join(stream, width, pieces, workspace, f);
}

/* With a kept one; f has no need of one(). */
template <typename F>
static void fold_across(cuda_stream stream, const reduce_space *s, int pieces, void *workspace, F f)
{
    int64_t width = reduce_width(s), piece = (s->reduced.count + pieces - 1) / pieces;
    dim3 block = fold_block(s->last);
    int64_t tiles = (s->last + 4 * block.x - 1) / (4 * block.x) * s->kept.count;
    if (width == 0)
        return;
    LAUNCH(fold_columns<F>, dim3(blocks_for(tiles, 1), (unsigned)pieces), block, 0, stream, f,
           (typename F::state *)workspace, *s, piece);
    fold_join(stream, width, pieces, workspace, f);
}

template <typename F>
static void fold(cuda_stream stream, const reduce_space *s, int pieces, void *workspace, F f)
{
    if (s->last_reduced)
        fold_along(stream, s, pieces, workspace, f);
    else
        fold_across(stream, s, pieces, workspace, f);
}

#endif
