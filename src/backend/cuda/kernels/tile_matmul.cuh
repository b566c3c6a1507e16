/*
 * The tile that matrix products and convolutions share: y[row, column] = sum over k of a[row, k]
 * b[column, k], where a source says at which place of memory a factor lies, if anywhere.
 *
 * A block makes a square of y with two threads for each of its rows. Squares of a and b wait in
 * shared memory as words of 32 bits, which hold one float or two halves that follow each other in
 * k, so one code moves and one multiplies them all: an m16n8 instruction takes eight words of k, be
 * they k8 of TF32 or k16 of halves. While one pair of squares is multiplied the next one is on its
 * way through registers.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_TILE_MATMUL_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_TILE_MATMUL_CUH

#include "backend/cuda/kernels/tile_result.cuh"
#include "backend/cuda/kernels/tile_source.cuh"

enum {
    TILE_WORDS = 16, /* of k in a row of a square */
    TILE_PITCH = 20, /* words from row to row: eight rows of four words meet no bank twice */
};

template <tile_kind KIND> struct tile_word {
    static constexpr int FACTORS = TILE_CHUNK<KIND> / 4;
    static constexpr int CHUNK = TILE_CHUNK<KIND>;
    static constexpr int K = TILE_WORDS * FACTORS; /* factors of k in a square */
};

/* What a thread carries from memory to a square: eight words, two chunks. */
struct tile_held {
    uint32_t word[8];

    __device__ __forceinline__ void chunk(int which, uint4 c)
    {
        word[4 * which] = c.x;
        word[4 * which + 1] = c.y;
        word[4 * which + 2] = c.z;
        word[4 * which + 3] = c.w;
    }
    template <int FACTORS> __device__ __forceinline__ void factor(int which, int i, uint32_t bits)
    {
        word[4 * which + i / FACTORS] |= bits << (i % FACTORS * 16);
    }
};

/* Which factors of a square are this thread's. */
template <tile_kind KIND, int SIDE> struct tile_share {
    int row, k; /* of the first */

    __device__ __forceinline__ tile_share(bool along_k)
    {
        constexpr int PAIRS = tile_word<KIND>::K / 2;
        int thread = threadIdx.x;
        row = along_k ? thread / 4 : thread / PAIRS * tile_word<KIND>::CHUNK;
        k = along_k ? thread % 4 * tile_word<KIND>::CHUNK : thread % PAIRS * 2;
    }
};

/* A chunk along k of each of two rows that are SIDE / 2 apart. */
template <tile_kind KIND, int SIDE, class SOURCE>
__device__ __forceinline__ void tile_take_along_k(tile_held &held, const SOURCE &s, int row, int k,
                                                  int end, const typename SOURCE::line *line)
{
    constexpr int CHUNK = tile_word<KIND>::CHUNK;
    if (s.vector && IN(k + CHUNK <= end)) {
        typename SOURCE::step step = s.step_of(k);
#pragma unroll
        for (int u = 0; u < 2; u++) {
            int64_t at = IN(row + u * SIDE / 2 < s.rows) ? s.at(line[u], step) : -1;
            if (at >= 0)
                held.chunk(u, tile_chunk<KIND>(s.data, at));
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
        if (!IN(k + i < end))
            continue;
        typename SOURCE::step step = s.step_of(k + i);
#pragma unroll
        for (int u = 0; u < 2; u++) {
            int64_t at = IN(row + u * SIDE / 2 < s.rows) ? s.at(line[u], step) : -1;
            if (at >= 0)
                held.factor<tile_word<KIND>::FACTORS>(u, i, tile_one<KIND>(s.data, at));
        }
    }
}

/* A chunk of rows at each of two k that follow each other. */
template <tile_kind KIND, class SOURCE>
__device__ __forceinline__ void tile_take_along_rows(tile_held &held, const SOURCE &s, int row,
                                                     int k, int end,
                                                     const typename SOURCE::line *line)
{
    constexpr int CHUNK = tile_word<KIND>::CHUNK;
#pragma unroll
    for (int u = 0; u < 2; u++) {
        if (!IN(k + u < end))
            continue;
        typename SOURCE::step step = s.step_of(k + u);
        if (s.vector && IN(row + CHUNK <= s.rows)) {
            int64_t at = s.at(line[0], step);
            if (at >= 0)
                held.chunk(u, tile_chunk<KIND>(s.data, at));
            continue;
        }
        if constexpr (SOURCE::ROWS == TILE_ANY_ROWS) {
#pragma unroll
            for (int i = 0; i < CHUNK; i++)
                if (IN(row + i < s.rows))
                    held.factor<tile_word<KIND>::FACTORS>(
                        u, i, tile_one<KIND>(s.data, s.at(s.line_of(row + i), step)));
        }
    }
}

template <tile_kind KIND, int SIDE, class SOURCE>
__device__ __forceinline__ void tile_take(tile_held &held, const SOURCE &s, int row0, int k0,
                                          int end, const typename SOURCE::line *line)
{
    tile_share<KIND, SIDE> share(s.along_k);
#pragma unroll
    for (int i = 0; i < 8; i++)
        held.word[i] = 0;
    if (s.along_k)
        tile_take_along_k<KIND, SIDE>(held, s, row0 + share.row, k0 + share.k, end, line);
    else if constexpr (SOURCE::ROWS != TILE_NO_ROWS)
        tile_take_along_rows<KIND>(held, s, row0 + share.row, k0 + share.k, end, line);
}

template <tile_kind KIND, int SIDE>
__device__ __forceinline__ void tile_put(uint32_t *square, tile_held held, bool along_k)
{
    tile_share<KIND, SIDE> share(along_k);
    constexpr int FACTORS = tile_word<KIND>::FACTORS;
    uint32_t *to = square + share.row * TILE_PITCH + share.k / FACTORS;
    uint32_t *w = held.word;
    if (KIND == TILE_TF32) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            w[i] = tf32_of(float_of(w[i]));
    }
    if (along_k) {
        *(uint4 *)to = uint4{w[0], w[1], w[2], w[3]};
        *(uint4 *)(to + SIDE / 2 * TILE_PITCH) = uint4{w[4], w[5], w[6], w[7]};
        return;
    }
#pragma unroll
    for (int i = 0; i < tile_word<KIND>::CHUNK; i++, to += TILE_PITCH) {
        if (FACTORS == 1) {
            *(uint2 *)to = uint2{w[i], w[4 + i]};
        } else {
            uint32_t first = w[i / 2] >> (i % 2 * 16), second = w[4 + i / 2] >> (i % 2 * 16);
            *to = (first & 0xffffu) | second << 16;
        }
    }
}

/* The sums of a thread, [ROWS][COLUMNS] of them, and where in the square they stand: rows r of all
 * threads are a strip of STRIP rows. */
template <tile_kind KIND, int SIDE> struct tile_sums {
    static constexpr bool MMA = KIND != TILE_F32;
    static constexpr int ROWS = MMA ? SIDE / 16 : 8, COLUMNS = MMA ? 8 : SIDE / 16;
    static constexpr int STRIP = SIDE / ROWS, STRIP_PITCH = SIDE + 8;
    float of[SIDE / 2];

    __device__ __forceinline__ static int warp_row()
    {
        return threadIdx.x / 32 % 2 * (SIDE / 2);
    }
    __device__ __forceinline__ static int warp_column()
    {
        return threadIdx.x / 64 * 32;
    }
    /* this thread's row of every strip, and where row i of strip r stands in the square */
    __device__ __forceinline__ static int strip_row()
    {
        return MMA ? threadIdx.x / 32 % 2 * 8 + threadIdx.x % 32 / 4 : threadIdx.x / 16;
    }
    __device__ __forceinline__ static int row(int r, int i)
    {
        return MMA ? i / 8 * (SIDE / 2) + r * 8 + i % 8 : i + r * STRIP;
    }
    __device__ __forceinline__ static int column(int c)
    {
        return MMA ? warp_column() + c / 2 * 8 + threadIdx.x % 4 * 2 + c % 2
                   : threadIdx.x % 16 + c * 16;
    }
    __device__ __forceinline__ static constexpr int index(int r, int c)
    {
        return MMA ? (r / 2 * 4 + c / 2) * 4 + r % 2 * 2 + c % 2 : r * COLUMNS + c;
    }

    __device__ __forceinline__ void add(const uint32_t *a, const uint32_t *b);
};

template <tile_kind KIND, int SIDE>
__device__ __forceinline__ void tile_add_mma(float *sums, const uint32_t *a, const uint32_t *b)
{
    int lane = threadIdx.x % 32;
    a += (tile_sums<KIND, SIDE>::warp_row() + lane / 4) * TILE_PITCH + lane % 4;
    b += (tile_sums<KIND, SIDE>::warp_column() + lane / 4) * TILE_PITCH + lane % 4;
#pragma unroll
    for (int w = 0; w < TILE_WORDS; w += 8) {
        uint32_t columns[4][2];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            columns[j][0] = b[j * 8 * TILE_PITCH + w];
            columns[j][1] = b[j * 8 * TILE_PITCH + w + 4];
        }
#pragma unroll
        for (int i = 0; i < SIDE / 32; i++) {
            const uint32_t *p = a + i * 16 * TILE_PITCH + w;
            uint32_t rows[4] = {p[0], p[8 * TILE_PITCH], p[4], p[8 * TILE_PITCH + 4]};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float *d = sums + (i * 4 + j) * 4;
                if constexpr (KIND == TILE_TF32)
                    mma_1688_tf32(d, rows, columns[j]);
                else
                    mma_16816<typename tile_factor<KIND>::type>(d, rows, columns[j]);
            }
        }
    }
}

template <int SIDE>
__device__ __forceinline__ void tile_add_plain(float *sums, const uint32_t *a, const uint32_t *b)
{
    constexpr int COLUMNS = SIDE / 16;
    a += threadIdx.x / 16 * TILE_PITCH;
    b += threadIdx.x % 16 * TILE_PITCH;
#pragma unroll
    for (int w = 0; w < TILE_WORDS; w += 4) {
        uint4 rows[8];
#pragma unroll
        for (int i = 0; i < 8; i++)
            rows[i] = *(const uint4 *)(a + i * (SIDE / 8) * TILE_PITCH + w);
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            uint4 column = *(const uint4 *)(b + j * 16 * TILE_PITCH + w);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                float sum = sums[i * COLUMNS + j];
                sum = fmaf(float_of(rows[i].x), float_of(column.x), sum);
                sum = fmaf(float_of(rows[i].y), float_of(column.y), sum);
                sum = fmaf(float_of(rows[i].z), float_of(column.z), sum);
                sum = fmaf(float_of(rows[i].w), float_of(column.w), sum);
                sums[i * COLUMNS + j] = sum;
            }
        }
    }
}

template <tile_kind KIND, int SIDE>
__device__ __forceinline__ void tile_sums<KIND, SIDE>::add(const uint32_t *a, const uint32_t *b)
{
    if constexpr (MMA)
        tile_add_mma<KIND, SIDE>(of, a, b);
    else
        tile_add_plain<SIDE>(of, a, b);
}

/* How y and k are dealt to the blocks. */
struct tile_deal {
    int64_t batches;
    int rows, columns, k;
    int row_tiles, column_tiles, pieces, piece_k;
    float *parts; /* [piece, batch, row, column] if there are several pieces */
};

/* Strip by strip through shared memory, so that neighbouring threads write neighbours. */
template <tile_kind KIND, int SIDE, class Y>
__device__ __forceinline__ void tile_give(const tile_sums<KIND, SIDE> &sums, uint32_t *shared,
                                          const Y &y, const tile_deal &deal, int64_t batch,
                                          int piece, int row0, int column0)
{
    constexpr int STRIP = sums.STRIP, PITCH = sums.STRIP_PITCH;
#pragma unroll
    for (int r = 0; r < sums.ROWS; r++) {
        __syncthreads(); /* the shared was read */
#pragma unroll
        for (int c = 0; c < sums.COLUMNS; c++)
            shared[sums.strip_row() * PITCH + sums.column(c)] = bits_of(sums.of[sums.index(r, c)]);
        __syncthreads();
#pragma unroll 1
        for (int i = threadIdx.x; i < STRIP * SIDE; i += 2 * SIDE) {
            int row = row0 + sums.row(r, i / SIDE), column = column0 + i % SIDE;
            if (!IN(row < deal.rows && column < deal.columns))
                continue;
            float sum = float_of(shared[i / SIDE * PITCH + i % SIDE]);
            if (deal.pieces == 1)
                y.put(batch, row, column, sum);
            else
                deal.parts[((piece * deal.batches + batch) * deal.rows + row) * deal.columns +
                           column] = sum;
        }
    }
}

template <tile_kind KIND, int SIDE, class A, class B, class Y>
static KERNEL(2 * SIDE, tile_matmul, A a, B b, Y y, tile_deal deal)
{
    constexpr int K = tile_word<KIND>::K;
    SHARED(uint32_t, squares, [2][2][SIDE * TILE_PITCH]);
    unsigned block = blockIdx.x;
    int column0 = (int)(block % deal.column_tiles) * SIDE;
    block /= deal.column_tiles;
    int row0 = (int)(block % deal.row_tiles) * SIDE;
    block /= deal.row_tiles;
    int piece = (int)(block % deal.pieces), k0 = piece * deal.piece_k;
    int end = deal.k - k0 < deal.piece_k ? deal.k : k0 + deal.piece_k;
    int64_t batch = block / deal.pieces;
    a.enter(batch);
    b.enter(batch);
    tile_share<KIND, SIDE> share_a(a.along_k), share_b(b.along_k);
    typename A::line line_a[2] = {a.line_of(row0 + share_a.row),
                                  a.line_of(row0 + share_a.row + SIDE / 2)};
    typename B::line line_b[2] = {b.line_of(column0 + share_b.row),
                                  b.line_of(column0 + share_b.row + SIDE / 2)};
    tile_sums<KIND, SIDE> sums = {};
    tile_held held_a, held_b;
    tile_take<KIND, SIDE>(held_a, a, row0, k0, end, line_a);
    tile_take<KIND, SIDE>(held_b, b, column0, k0, end, line_b);
    for (int k = k0, turn = 0; k < end; k += K, turn ^= 1) {
        tile_put<KIND, SIDE>(squares[turn][0], held_a, a.along_k);
        tile_put<KIND, SIDE>(squares[turn][1], held_b, b.along_k);
        __syncthreads(); /* one is enough: the other pair was read before the last */
        if (end - k > K) {
            tile_take<KIND, SIDE>(held_a, a, row0, k + K, end, line_a);
            tile_take<KIND, SIDE>(held_b, b, column0, k + K, end, line_b);
        }
        sums.add(squares[turn][0], squares[turn][1]);
    }
    tile_give(sums, &squares[0][0][0], y, deal, batch, piece, row0, column0);
}

enum { TILE_ADDERS = 256 };

/* The pieces of k, added up in their order: a thread an element. */
template <class Y> static KERNEL(TILE_ADDERS, tile_add_pieces, Y y, tile_deal deal)
{
    int64_t size = (int64_t)deal.rows * deal.columns, all = deal.batches * size;
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (!IN(i < all))
        return;
    float sum = deal.parts[i];
    for (int piece = 1; piece < deal.pieces; piece++)
        sum += deal.parts[piece * all + i];
    int64_t in_batch = i % size;
    y.put(i / size, (int)(in_batch / deal.columns), (int)(in_batch % deal.columns), sum);
}

template <class Y>
static inline void tile_launch_add(cuda_stream stream, const Y &y, const tile_deal &deal)
{
    int64_t all = deal.batches * deal.rows * deal.columns;
    dim3 grid((unsigned)((all + TILE_ADDERS - 1) / TILE_ADDERS));
    LAUNCH(tile_add_pieces<Y>, grid, dim3(TILE_ADDERS), 0, stream, y, deal);
}

/* Cuts k into at most cut.pieces, all but the last of the same whole number of squares. */
static inline tile_deal tile_deal_of(const tile_cut &cut, int side, int square_k, int64_t batches,
                                     int64_t rows, int64_t columns, int64_t k)
{
    int64_t squares = (k + square_k - 1) / square_k;
    int64_t each = squares > cut.pieces ? (squares + cut.pieces - 1) / cut.pieces : 1;
    tile_deal d = {};
    d.batches = batches;
    d.rows = (int)rows;
    d.columns = (int)columns;
    d.k = (int)k;
    d.row_tiles = (int)((rows + side - 1) / side);
    d.column_tiles = (int)((columns + side - 1) / side);
    d.pieces = squares > each ? (int)((squares + each - 1) / each) : 1;
    d.piece_k = (int)(each * square_k);
    d.parts = cut.parts;
    return d;
}

template <tile_kind KIND, int SIDE, class A, class B, class Y>
static void tile_launch_side(cuda_stream stream, const tile_cut &cut, const A &a, const B &b,
                             const Y &y, int64_t batches, int64_t k)
{
    tile_deal deal = tile_deal_of(cut, SIDE, tile_word<KIND>::K, batches, a.rows, b.rows, k);
    dim3 grid((unsigned)(batches * deal.pieces * deal.row_tiles * deal.column_tiles));
    LAUNCH((tile_matmul<KIND, SIDE, A, B, Y>), grid, dim3(2 * SIDE), 0, stream, a, b, y, deal);
    if (deal.pieces > 1)
        tile_launch_add(stream, y, deal);
}

template <tile_kind KIND, bool WIDE, class A, class B, class Y>
static void tile_launch_kind(cuda_stream stream, const tile_cut &cut, const A &a, const B &b,
                             const Y &y, int64_t batches, int64_t k)
{
    if constexpr (WIDE) {
        if (cut.wide)
            return tile_launch_side<KIND, 128>(stream, cut, a, b, y, batches, k);
    }
    tile_launch_side<KIND, 64>(stream, cut, a, b, y, batches, k);
}

/* y = a b by tiles; y has the rows of a and, as columns, those of b. WIDE: these sources are worth
 * kernels with tiles of both sizes. */
template <bool WIDE, class A, class B, class Y>
static void tile_launch(cuda_stream stream, tile_kind kind, const tile_cut &cut, const A &a,
                        const B &b, const Y &y, int64_t batches, int64_t k)
{
    if (batches == 0 || a.rows == 0 || b.rows == 0)
        return;
    switch (kind) {
    case TILE_F32:
        return tile_launch_kind<TILE_F32, WIDE>(stream, cut, a, b, y, batches, k);
    case TILE_TF32:
        return tile_launch_kind<TILE_TF32, WIDE>(stream, cut, a, b, y, batches, k);
    case TILE_BF16:
        return tile_launch_kind<TILE_BF16, WIDE>(stream, cut, a, b, y, batches, k);
    case TILE_F16:
        return tile_launch_kind<TILE_F16, WIDE>(stream, cut, a, b, y, batches, k);
    }
}

#endif
