#include "cuda_emu/scenes.h"

#include "backend/cuda/kernels/device.cuh"

static KERNEL(64, turn, float *y, turn_how how)
{
    SHARED(float, row, [64]);
    int i = (int)threadIdx.x;
    float *to = row; /* a sanitizer would see that it leaves the array */
    to[how == TURN_BEHIND ? i + 1 : i] = y[i];
    if (how == TURN_BRANCH && i >= 32)
        return;
    if (how == TURN_TWO && i >= 32)
        __syncthreads();
    else if (how != TURN_NO_BARRIER)
        __syncthreads();
    y[i] = row[63 - i];
}

void scene_turn(cuda_stream s, float *y, turn_how how)
{
    LAUNCH(turn, dim3(1), dim3(64), 0, s, y, how);
}

static KERNEL(64, shuffle, int *y, shuffle_how how)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), x = i * i;
    if (how == SHUFFLE_ENDED && i == 7)
        return;
    if (how == SHUFFLE_APART && i == 4)
        x = __shfl_sync(~0u, x, 1);
    else if (how == SHUFFLE_MASK)
        x = __shfl_sync(0xffffu, x, 1);
    else if (how == SHUFFLE_XOR)
        x = __shfl_xor_sync(~0u, x, 5);
    else if (how == SHUFFLE_UP)
        x = __shfl_up_sync(~0u, x, 2);
    else if (how == SHUFFLE_DOWN)
        x = __shfl_down_sync(~0u, x, 2);
    else if (how == SHUFFLE_BALLOT)
        x = (int)__ballot_sync(~0u, x % 2 == 1);
    else
        x = __shfl_sync(~0u, x, 3);
    y[i] = x;
}

void scene_shuffle(cuda_stream s, int *y, unsigned threads, shuffle_how how)
{
    LAUNCH(shuffle, dim3(2), dim3(threads), 0, s, y, how);
}

static KERNEL(1, leftover, float *y)
{
    SHARED(float, found, [1]);
    float x = found[0] + 1;
    found[0] = 1;
    y[blockIdx.x] = x;
}

void scene_leftover(cuda_stream s, float *y)
{
    LAUNCH(leftover, dim3(2), dim3(1), 0, s, y);
}

enum { BIG = 13000, HALF_BIG = 7000 };

static KERNEL(1, big_dynamic, float *y)
{
    SHARED_DYNAMIC(float, room);
    room[BIG - 1] = 1;
    y[0] = room[BIG - 1];
}

static KERNEL(1, big_static, float *y)
{
    SHARED(float, room, [BIG]);
    room[BIG - 1] = 1;
    y[0] = room[BIG - 1];
}

/* Of its own address: leave is given to a kernel for good. */
static KERNEL(1, big_without_leave, float *y)
{
    SHARED_DYNAMIC(float, room);
    room[BIG - 1] = 2;
    y[0] = room[BIG - 1];
}

static KERNEL(1, big_both, float *y)
{
    SHARED(float, room, [HALF_BIG]);
    SHARED_DYNAMIC(float, other);
    room[0] = other[0] = 1;
    y[0] = room[0];
}

void scene_big(cuda_stream s, float *y, big_how how)
{
    if (how == BIG_ALLOWED)
        ALLOW_SHARED(big_dynamic, BIG * sizeof(float));
    if (how == BIG_ALLOWED || how == BIG_AGAIN) {
        LAUNCH(big_dynamic, dim3(1), dim3(1), BIG * sizeof(float), s, y);
    } else if (how == BIG_DYNAMIC) {
        LAUNCH(big_without_leave, dim3(1), dim3(1), BIG * sizeof(float), s, y);
    } else if (how == BIG_BOTH) {
        LAUNCH(big_both, dim3(1), dim3(1), HALF_BIG * sizeof(float), s, y);
    } else {
        LAUNCH(big_static, dim3(1), dim3(1), 0, s, y);
    }
}

static KERNEL(32, copy_fours, float *y, const float *x, copy_how how)
{
    SHARED(float, room, [32 * 4 + 4]);
    int lane = (int)threadIdx.x;
    float *to = room + 4 * lane + (how == COPY_MISALIGNED);
    async_copy_16(how == COPY_GLOBAL ? y + 4 * lane : to, x + 4 * lane, lane == 31 ? 12 : 16);
    async_commit();
    if (how == COPY_LATE_GROUP)
        async_wait<1>();
    else if (how != COPY_NO_WAIT)
        async_wait<0>();
    __syncthreads();
    if (how == COPY_OVERWRITE)
        async_copy_16(to, x, 16);
    const float *other = room + 4 * (31 - lane); /* what another thread has copied */
    for (int i = 0; i < 4; i++)
        y[4 * (31 - lane) + i] = other[i];
    __syncthreads();
    async_wait<0>();
}

void scene_copy(cuda_stream s, float *y, const float *x, copy_how how)
{
    LAUNCH(copy_fours, dim3(1), dim3(32), 0, s, y, x, how);
}

static KERNEL(32, matmul, float *d, const uint32_t *a, const uint32_t *b, matmul_how how)
{
    uint32_t fa[4], fb[2];
    float fd[4];
    for (int i = 0; i < 4; i++) {
        fa[i] = a[4 * threadIdx.x + i];
        fb[i % 2] = b[2 * threadIdx.x + i % 2];
        fd[i] = d[4 * threadIdx.x + i];
    }
    if (how == MATMUL_BF16)
        mma_16816<bf16>(fd, fa, fb);
    else if (how == MATMUL_F16)
        mma_16816<f16>(fd, fa, fb);
    else if (how == MATMUL_F16_8)
        mma_1688_f16(fd, fa, fb[0]);
    else
        mma_1688_tf32(fd, fa, fb);
    for (int i = 0; i < 4; i++)
        d[4 * threadIdx.x + i] = fd[i];
}

void scene_matmul(cuda_stream s, float *d, const uint32_t *a, const uint32_t *b, matmul_how how)
{
    LAUNCH(matmul, dim3(1), dim3(32), 0, s, d, a, b, how);
}

static KERNEL(32, load, uint32_t *y, const uint16_t *x, bool transposed)
{
    SHARED(uint4, rows, [32]);
    uint32_t r[4];
    for (int i = 0; i < 8; i++)
        ((uint16_t *)&rows[threadIdx.x])[i] = x[8 * threadIdx.x + i];
    __syncwarp();
    if (transposed)
        load_matrix_x4<true>(r, &rows[threadIdx.x]);
    else
        load_matrix_x4<false>(r, &rows[threadIdx.x]);
    for (int i = 0; i < 4; i++)
        y[4 * threadIdx.x + i] = r[i];
}

void scene_load(cuda_stream s, uint32_t *y, const uint16_t *x, bool transposed)
{
    LAUNCH(load, dim3(1), dim3(32), 0, s, y, x, transposed);
}

static KERNEL(1, round_to_tf32, uint32_t *y, const float *x)
{
    y[blockIdx.x] = tf32_of(x[blockIdx.x]);
}

void scene_tf32(cuda_stream s, uint32_t *y, const float *x, unsigned n)
{
    LAUNCH(round_to_tf32, dim3(n), dim3(1), 0, s, y, x);
}

template <typename T> static KERNEL(1, store, float *y, const float *x)
{
    SHARED(uint4, room, [32 * 2]);
    float in[8], out[8];
    T *mine = (T *)room + 8 * threadIdx.x;
    size_t at = 8 * ((size_t)blockIdx.x * blockDim.x + threadIdx.x);
    load_vec<8>(in, x + at);
    store_vec<8>(mine, in);
    load_vec<8>(out, mine);
    store_vec<8>(y + at, out);
}

void scene_store(cuda_stream s, float *y, const float *x, size_t n, launch_type type)
{
    dim3 grid((unsigned)(n / 8)), block(1);
    if (type == LAUNCH_F32)
        LAUNCH((store<float>), grid, block, 0, s, y, x);
    else if (type == LAUNCH_BF16)
        LAUNCH((store<bf16>), grid, block, 0, s, y, x);
    else
        LAUNCH((store<f16>), grid, block, 0, s, y, x);
}

static KERNEL(32, turn_warp, float *y, bool syncs)
{
    SHARED(float, row, [32]);
    int lane = (int)threadIdx.x;
    row[lane] = y[lane];
    if (syncs)
        __syncwarp();
    y[lane] = row[31 - lane];
}

void scene_turn_warp(cuda_stream s, float *y, bool syncs)
{
    LAUNCH(turn_warp, dim3(1), dim3(32), 0, s, y, syncs);
}

static KERNEL(1, blocks, float *y, blocks_how how)
{
    if (how == BLOCKS_READ && blockIdx.x == 1)
        y[1] = y[0] + 1;
    else
        y[how == BLOCKS_SAME ? 0 : blockIdx.x] = (float)blockIdx.x;
}

void scene_blocks(cuda_stream s, float *y, blocks_how how)
{
    LAUNCH(blocks, dim3(2), dim3(1), 0, s, y, how);
}

static KERNEL(32, narrow, uint8_t *y, uint16_t *z, uint64_t *least)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = (uint8_t)i;
    z[i] = (uint16_t)i;
    atomic_min_u64(least, 66 - i);
}

void scene_narrow(cuda_stream s, uint8_t *y, uint16_t *z, uint64_t *least)
{
    LAUNCH(narrow, dim3(2), dim3(32), 0, s, y, z, least);
}

template <int THREADS> static KERNEL(THREADS, fold, float *y, const float *x)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    y[3 * i] = block_sum<THREADS>(x[i]);
    y[3 * i + 1] = block_sum<THREADS>(x[i] * x[i]);
    y[3 * i + 2] = block_max<THREADS>(-x[i]);
}

void scene_fold(cuda_stream s, float *y, const float *x, bool wide)
{
    if (wide)
        LAUNCH((fold<96>), dim3(2), dim3(96), 0, s, y, x);
    else
        LAUNCH((fold<32>), dim3(6), dim3(32), 0, s, y, x);
}

/* The second barrier is needless. */
static KERNEL(64, spread, float *y, int n, int stride)
{
    SHARED(float, row, [64]);
    int i = (int)threadIdx.x;
    row[i] = (float)i;
    __syncthreads();
    float x = row[63 - i];
    __syncthreads();
    if (IN(i < n))
        y[i * LD(stride)] = x;
}

void scene_spread(cuda_stream s, float *y, int n, int stride)
{
    LAUNCH(spread, dim3(1), dim3(64), 0, s, y, n, stride);
}

static KERNEL(32, set, float *y, float value, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = value;
}

void scene_set(cuda_stream s, float *y, float value, size_t n)
{
    LAUNCH(set, dim3((unsigned)((n + 31) / 32)), dim3(32), 0, s, y, value, n);
    n = 0; /* arguments were taken */
}

static KERNEL(1, vector, float *y)
{
    float x[4] = {1, 2, 3, 4};
    store_vec<4>(y, x);
}

void scene_vector(cuda_stream s, float *y)
{
    LAUNCH(vector, dim3(1), dim3(1), 0, s, y);
}

static KERNEL(1024, nothing)
{
}

void scene_size(cuda_stream s, unsigned grid_x, unsigned grid_y, unsigned threads)
{
    LAUNCH(nothing, dim3(grid_x, grid_y), dim3(threads), 0, s);
}

static KERNEL(64, little)
{
}

void scene_bound(cuda_stream s, unsigned threads_x, unsigned threads_y)
{
    LAUNCH(little, dim3(1), dim3(threads_x, threads_y), 0, s);
}

static KERNEL(1, deep, float *y)
{
    volatile float room[20000];
    for (int i = 20000 - 1; i >= 0; i--)
        room[i] = (float)i;
    y[0] = room[7];
}

void scene_deep(cuda_stream s, float *y)
{
    LAUNCH(deep, dim3(1), dim3(1), 0, s, y);
}

static KERNEL(1, wild, float *nowhere)
{
    *nowhere = 1;
}

void scene_wild(cuda_stream s)
{
    LAUNCH(wild, dim3(1), dim3(1), 0, s, (float *)64);
}
