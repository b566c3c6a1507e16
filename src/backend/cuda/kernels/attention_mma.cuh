/*
 * Attention's matmuls on tensor cores, from sm_80 on, of f16 on any chip: an engine like
 * ffma_engine (attention_ffma.cuh). Four warps, each with 16 rows of the tile of 64. Operands lie
 * in shared memory as they are, up to DEPTH numbers wide; probabilities stay in registers, where
 * the accumulators of one matmul are the fragments of the next. Halves are multiplied 16 deep,
 * floats, rounded to TF32, 8 deep. Loops that fetch are rolled up: beside what a thread adds up to,
 * their addresses find no registers.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_ATTENTION_MMA_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_ATTENTION_MMA_CUH

#include "backend/cuda/kernels/attention_ffma.cuh"

template <typename T> constexpr launch_type MMA_OPERANDS = LAUNCH_F32;
template <> constexpr launch_type MMA_OPERANDS<bf16> = LAUNCH_BF16;
template <> constexpr launch_type MMA_OPERANDS<f16> = LAUNCH_F16;

/* A word of a fragment as the matmul wants it. */
template <typename T> __device__ __forceinline__ uint32_t mma_factor(uint32_t word)
{
    return word;
}
template <> __device__ __forceinline__ uint32_t mma_factor<float>(uint32_t word)
{
    return tf32_of(float_of(word));
}

/* d[16,8] += a b, over 32 bytes of operands. */
template <typename T>
__device__ __forceinline__ void mma_32_bytes(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    mma_16816<T>(d, a, b);
}
template <>
__device__ __forceinline__ void mma_32_bytes<float>(float d[4], const uint32_t a[4],
                                                    const uint32_t b[2])
{
    mma_1688_tf32(d, a, b);
}

/* DEPTH: how wide operands may be; KEYS: rows of those that pass, fewer where a thread adds up to
 * many numbers */
template <typename T, int DEPTH, int KEYS> struct mma_engine {
    enum {
        NEEDS_SM_80 = MMA_OPERANDS<T> != LAUNCH_F16,
        WARPS = 4,
        THREADS = 32 * WARPS,
        BLOCKS = DEPTH <= 64 ? 3 : 2,
        ROWS = 16 * WARPS,
        COLUMNS = KEYS,
        WIDTH = DEPTH,
        HELD = 2,
        SPREAD = COLUMNS / 4,
        WIDE = WIDTH / 4,
        NARROWER = DEPTH > 64 ? DEPTH / 4 * 3 : DEPTH, /* columns that are multiplied alone too */
        LANES = 4,
        VECTOR = 16 / (int)sizeof(T), /* numbers in 16 bytes */
        STEP = 2 * VECTOR,            /* numbers in a matmul's depth */
        PITCH = DEPTH + VECTOR,       /* 8 rows hit different banks */
        TILE = ROWS * PITCH,          /* numbers of one that stays */
        PASSING_TILE = COLUMNS * PITCH
    };
    T *tiles_at;
    int width[PLACES]; /* of the operands */

    /* `stay`: how many operands do */
    static constexpr size_t shared(int stay)
    {
        return sizeof(T) * (size_t)(stay * TILE + 2 * PASSING_TILE);
    }

    static bool takes(const launch_attention &t, int stay)
    {
        return t.matmuls == MATMULS_MMA && t.operands == MMA_OPERANDS<T> && t.head <= WIDTH &&
               t.v_head <= WIDTH && shared(stay) <= t.shared_limit;
    }

    static __device__ __forceinline__ int lane()
    {
        return (int)threadIdx.x % 32;
    }
    static __device__ __forceinline__ int first_row()
    {
        return (int)threadIdx.x / 32 * 16;
    }
    static __device__ __forceinline__ int row(int i)
    {
        return first_row() + lane() / 4 + 8 * i;
    }
    static __device__ __forceinline__ int column(int j)
    {
        return j / 2 * 8 + lane() % 4 * 2 + j % 2;
    }

    __device__ __forceinline__ mma_engine()
    {
        SHARED_DYNAMIC(T, tiles);
        tiles_at = tiles;
    }

    __device__ __forceinline__ T *tile(int place) const
    {
        return place == PASSES       ? tiles_at
               : place == PASSES_TOO ? tiles_at + PASSING_TILE
                                     : tiles_at + 2 * PASSING_TILE + (place - STAYS) * TILE;
    }

    __device__ __forceinline__ void fetch(int place, const matrix &m)
    {
        width[place] = m.width;
        bool passes = place == PASSES || place == PASSES_TOO;
        int rows = passes ? (int)COLUMNS : (int)ROWS;
        bool rounds = m.type == LAUNCH_F32 && sizeof(T) < sizeof(float);
        int64_t row_bytes = m.stride * (int64_t)(rounds ? sizeof(float) : sizeof(T));
        bool aligned = ((uintptr_t)m.at | (uintptr_t)row_bytes) % 16 == 0;
        if (!aligned || (rounds && m.width % VECTOR != 0))
            fetch_numbers(tile(place), m, rows);
        else if (rounds)
            fetch_rounded(tile(place), m, rows);
        else
            fetch_vectors(tile(place), m, rows);
    }

    static __device__ __forceinline__ void fetch_vectors(T *to, const matrix &m, int rows)
    {
        const T *from = (const T *)m.at;
#pragma unroll 2
        for (int i = (int)threadIdx.x; i < rows * (DEPTH / VECTOR); i += THREADS) {
            int r = i / (DEPTH / VECTOR), c = i % (DEPTH / VECTOR) * VECTOR;
            int left = IN(r < m.rows) ? (m.width - c) * (int)sizeof(T) : 0;
            int bytes = left < 0 ? 0 : left < 16 ? left : 16;
            async_copy_16(to + r * PITCH + c, bytes > 0 ? from + r * LD(m.stride) + c : from,
                          bytes);
        }
    }

    /* Floats to halves, by whole vectors. */
    static __device__ __forceinline__ void fetch_rounded(T *to, const matrix &m, int rows)
    {
        const float *from = (const float *)m.at;
#pragma unroll 2
        for (int i = (int)threadIdx.x; i < rows * (DEPTH / VECTOR); i += THREADS) {
            int r = i / (DEPTH / VECTOR), c = i % (DEPTH / VECTOR) * VECTOR;
            float x[VECTOR] = {};
            if (IN(r < m.rows) && IN(c < m.width))
                load_vec<VECTOR>(x, from + r * LD(m.stride) + c);
            store_vec<VECTOR>(to + r * PITCH + c, x);
        }
    }

    static __device__ __forceinline__ void fetch_numbers(T *to, const matrix &m, int rows)
    {
#pragma unroll 1
        for (int i = (int)threadIdx.x; i < rows * DEPTH; i += THREADS) {
            int r = i / DEPTH, c = i % DEPTH;
            bool there = IN(r < m.rows) && IN(c < m.width);
            to[r * PITCH + c] = stored<T>(there ? matrix_element(m, r, c) : 0.0f);
        }
    }

    __device__ __forceinline__ void commit()
    {
        async_commit();
    }
    template <int LEFT> __device__ __forceinline__ void arrive()
    {
        async_wait<LEFT>();
        __syncthreads();
    }
    __device__ __forceinline__ void leave()
    {
        __syncthreads();
    }

    /* Four 8 x 8 (floats: 8 x 4) matrices at (row, column) of a tile: i and i + `across` side by
     * side, the others below. */
    template <bool transposed, int across>
    static __device__ __forceinline__ void load(uint32_t ret[4], const T *tile, int row, int column)
    {
        int which = lane() / 8;
        int right = across == 1 ? which % 2 : which / 2,
            below = across == 1 ? which / 2 : which % 2;
        load_matrix_x4<transposed>(ret, tile + (row + lane() % 8 + 8 * below) * PITCH + column +
                                            VECTOR * right);
    }

    /* s[.][4 n .. 4 n + 3] += a b for two neighbouring columns of 8: b is both's fragments */
    template <int N>
    static __device__ __forceinline__ void multiply(float (*s)[N], int n, const uint32_t a[4],
                                                    const uint32_t b[4])
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int j = 4 * n + 2 * half;
            float d[4] = {s[0][j], s[0][j + 1], s[1][j], s[1][j + 1]};
            mma_32_bytes<T>(d, a, b + 2 * half);
            s[0][j] = d[0];
            s[0][j + 1] = d[1];
            s[1][j] = d[2];
            s[1][j + 1] = d[3];
        }
    }

    static __device__ __forceinline__ void make_factors(uint32_t x[4])
    {
#pragma unroll
        for (int i = 0; i < 4; i++)
            x[i] = mma_factor<T>(x[i]);
    }

    __device__ __forceinline__ void dot(float s[HELD][SPREAD], int a, int b)
    {
        const T *left = tile(a), *right = tile(b);
        int depth = NARROWER < DEPTH ? width[a] : (int)DEPTH;
#pragma unroll
        for (int i = 0; i < HELD; i++)
#pragma unroll
            for (int j = 0; j < SPREAD; j++)
                s[i][j] = 0.0f;
#pragma unroll 2
        for (int k = 0; k < depth; k += STEP) {
            uint32_t x[4];
            load<false, 2>(x, left, first_row(), k);
            make_factors(x);
#pragma unroll
            for (int n = 0; n < COLUMNS / 16; n++) {
                uint32_t y[4];
                load<false, 1>(y, right, 16 * n, k);
                make_factors(y);
                multiply(s, n, x, y);
            }
        }
    }

    __device__ __forceinline__ void add(float y[HELD][WIDE], const float p[HELD][SPREAD], int x,
                                        int from)
    {
        if (NARROWER < WIDTH && width[x] <= NARROWER)
            add_columns<NARROWER>(y, p, x, from);
        else
            add_columns<WIDTH>(y, p, x, from);
    }

    template <int N>
    __device__ __forceinline__ void add_columns(float y[HELD][WIDE], const float p[HELD][SPREAD],
                                                int x, int from)
    {
#pragma unroll
        for (int k = 0; k < COLUMNS; k += STEP) {
            uint32_t a[4];
            take_accumulators((T *)NULL, a, p, k);
#pragma unroll
            for (int n = 0; n < N / 16; n++) {
                uint32_t b[4];
                load_rows(tile(x), b, k, from + 16 * n);
                multiply(y, n, a, b);
            }
        }
    }

    /* Scores of 16 columns from k on as a fragment of halves. */
    template <typename H>
    static __device__ __forceinline__ void take_accumulators(H *, uint32_t a[4],
                                                             const float p[HELD][SPREAD], int k)
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int j = k / 4 + i / 2 * 2;
            a[i] = pack_half2<H>(p[i % 2][j], p[i % 2][j + 1]);
        }
    }
    /* Of 8 columns of floats: column 2 t counts as the matmul's t, column 2 t + 1 as its t + 4. */
    static __device__ __forceinline__ void take_accumulators(float *, uint32_t a[4],
                                                             const float p[HELD][SPREAD], int k)
    {
#pragma unroll
        for (int i = 0; i < 4; i++)
            a[i] = tf32_of(p[i % 2][k / 4 + i / 2]);
    }

    /* Rows k .. k + STEP of 16 columns, in the order of take_accumulators. */
    template <typename H>
    static __device__ __forceinline__ void load_rows(const H *tile, uint32_t b[4], int k,
                                                     int column)
    {
        load<true, 2>(b, tile, k, column);
    }
    static __device__ __forceinline__ void load_rows(const float *tile, uint32_t b[4], int k,
                                                     int column)
    {
#pragma unroll
        for (int i = 0; i < 4; i++)
            b[i] = tf32_of(
                tile[(k + lane() % 4 * 2 + i % 2) * PITCH + column + lane() / 4 + i / 2 * 8]);
    }
};

#endif
