/*
 * Attention's matmuls in float32 with what every chip has: 256 threads, each with a fourth of the
 * rows and columns of a tile of 64 x 64. Operands of any size go through shared memory piece by
 * piece.
 *
 * An engine multiplies the tiles of a block for the kernels of attention, which do not ask how:
 *
 *   NEEDS_SM_80       of the chip
 *   THREADS, BLOCKS   of a block; and how many blocks should find room on a multiprocessor
 *   ROWS, COLUMNS     of a tile of scores; thread's s[i][j] is row(i), column(j)
 *   HELD, SPREAD      how many of them a thread has
 *   WIDTH, WIDE       columns of a tile of results, and how many of them a thread has
 *   LANES             neighbouring threads that share their rows, xor-shuffles reach them all
 *   shared(stay)      bytes of dynamic shared memory, with so many operands that stay
 *   fetch(place, m)   m becomes the operand of that place; commit() ends a group of these
 *   arrive<N>()       all groups but the last N can be multiplied
 *   leave()           operands have been read and may be fetched anew
 *   dot(s, a, b)      s = a b^T of the operands at a and b
 *   add(y, p, x, from)   y += p x, of x the columns from `from` on
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_ATTENTION_FFMA_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_ATTENTION_FFMA_CUH

#include "backend/cuda/kernels/attention.cuh"

/* The places of operands: two stay while tiles of the other two go by. */
enum { STAYS, STAYS_TOO, PASSES, PASSES_TOO, PLACES };

struct ffma_engine {
    enum {
        NEEDS_SM_80 = false,
        THREADS = 256,
        BLOCKS = 2,
        SIDE = 16,
        ROWS = 64,
        COLUMNS = 64,
        WIDTH = 64,
        HELD = ROWS / SIDE,
        SPREAD = COLUMNS / SIDE,
        WIDE = WIDTH / SIDE,
        LANES = SIDE,
        DEPTH = 32,            /* how much of the sums is in shared memory at a time */
        PITCH = DEPTH / 4 + 1, /* in vectors of 4, so that 8 rows hit different banks */
        P_PITCH = COLUMNS / 4 + 1
    };
    matrix operand[PLACES];

    static constexpr size_t shared(int)
    {
        return 0;
    }

    static __device__ __forceinline__ int row(int i)
    {
        return (int)threadIdx.x / SIDE + SIDE * i;
    }
    static __device__ __forceinline__ int column(int j)
    {
        return (int)threadIdx.x % SIDE + SIDE * j;
    }

    __device__ __forceinline__ void fetch(int place, const matrix &m)
    {
        operand[place] = m;
    }
    __device__ __forceinline__ void commit()
    {
    }
    template <int LEFT> __device__ __forceinline__ void arrive()
    {
    }
    __device__ __forceinline__ void leave()
    {
    }

    /* ROWS_OF rows from `row` on and COLUMNS_OF columns from `column` on, zero beyond m. */
    template <int ROWS_OF, int COLUMNS_OF>
    static __device__ __forceinline__ void stage(float4 *to, int pitch, const matrix &m, int row,
                                                 int column)
    {
        float *numbers = (float *)to;
        for (int i = (int)threadIdx.x; i < ROWS_OF * COLUMNS_OF; i += THREADS) {
            int r = i / COLUMNS_OF, c = i % COLUMNS_OF;
            bool there = IN(row + r < m.rows) && IN(column + c < m.width);
            numbers[r * 4 * pitch + c] = there ? matrix_element(m, row + r, column + c) : 0.0f;
        }
    }

    __device__ __forceinline__ void dot(float s[HELD][SPREAD], int a, int b)
    {
        SHARED(float4, left, [ROWS][PITCH]);
        SHARED(float4, right, [COLUMNS][PITCH]);
        for (int i = 0; i < HELD; i++)
            for (int j = 0; j < SPREAD; j++)
                s[i][j] = 0.0f;
        for (int from = 0; from < operand[a].width; from += DEPTH) {
            stage<ROWS, DEPTH>(left[0], PITCH, operand[a], 0, from);
            stage<COLUMNS, DEPTH>(right[0], PITCH, operand[b], 0, from);
            __syncthreads();
#pragma unroll 2
            for (int k = 0; k < DEPTH / 4; k++) {
                float4 l[HELD];
#pragma unroll
                for (int i = 0; i < HELD; i++)
                    l[i] = left[row(i)][k];
#pragma unroll
                for (int j = 0; j < SPREAD; j++) {
                    float4 r = right[column(j)][k];
#pragma unroll
                    for (int i = 0; i < HELD; i++) {
                        s[i][j] = fmaf(l[i].x, r.x, s[i][j]);
                        s[i][j] = fmaf(l[i].y, r.y, s[i][j]);
                        s[i][j] = fmaf(l[i].z, r.z, s[i][j]);
                        s[i][j] = fmaf(l[i].w, r.w, s[i][j]);
                    }
                }
            }
            __syncthreads();
        }
    }

    __device__ __forceinline__ void add(float y[HELD][WIDE], const float p[HELD][SPREAD], int x,
                                        int from)
    {
        SHARED(float4, left, [ROWS][P_PITCH]);
        SHARED(float4, right, [DEPTH][WIDTH / 4]);
        for (int i = 0; i < HELD; i++)
            for (int j = 0; j < SPREAD; j++)
                ((float *)left[row(i)])[column(j)] = p[i][j];
        for (int key = 0; key < COLUMNS; key += DEPTH) {
            stage<DEPTH, WIDTH>(right[0], WIDTH / 4, operand[x], key, from);
            __syncthreads();
#pragma unroll 2
            for (int k = 0; k < DEPTH / 4; k++) {
                float4 l[HELD];
#pragma unroll
                for (int i = 0; i < HELD; i++)
                    l[i] = left[row(i)][key / 4 + k];
#pragma unroll
                for (int j = 0; j < WIDE; j++) {
                    float r[4];
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        r[e] = ((const float *)right[4 * k + e])[column(j)];
#pragma unroll
                    for (int i = 0; i < HELD; i++) {
                        y[i][j] = fmaf(l[i].x, r[0], y[i][j]);
                        y[i][j] = fmaf(l[i].y, r[1], y[i][j]);
                        y[i][j] = fmaf(l[i].z, r[2], y[i][j]);
                        y[i][j] = fmaf(l[i].w, r[3], y[i][j]);
                    }
                }
            }
            __syncthreads();
        }
    }
};

#endif
