/* The addition of the tree of slots: as common/parts/tree.h's, bit for bit. */
#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/tree_sum.h"

enum { THREADS = 256, MOST_BLOCKS = 4096 };

/* By fours, for which all three are aligned; the last thread has what is left. */
static KERNEL(THREADS, tree_sum_fours, float *y, const float *left, const float *right, size_t n)
{
    size_t step = (size_t)gridDim.x * THREADS, fours = n / 4;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < fours; i += step) {
        float a[4], b[4];
        load_vec<4>(a, left + 4 * i);
        load_vec<4>(b, right + 4 * i);
        for (int j = 0; j < 4; j++)
            a[j] += b[j];
        store_vec<4>(y + 4 * i, a);
    }
    size_t rest = 4 * fours + (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (IN(rest < n))
        y[rest] = left[rest] + right[rest];
}

static KERNEL(THREADS, tree_sum_ones, float *y, const float *left, const float *right, size_t n)
{
    size_t step = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += step)
        y[i] = left[i] + right[i];
}

void launch_tree_sum(cuda_stream stream, float *y, const float *left, const float *right, size_t n)
{
    if (n == 0)
        return;
    bool is_aligned = ((uintptr_t)y | (uintptr_t)left | (uintptr_t)right) % 16 == 0;
    size_t threads = is_aligned ? (n + 3) / 4 : n;
    size_t blocks = (threads + THREADS - 1) / THREADS;
    dim3 grid((unsigned)(blocks < MOST_BLOCKS ? blocks : (size_t)MOST_BLOCKS));
    if (is_aligned)
        LAUNCH(tree_sum_fours, grid, dim3(THREADS), 0, stream, y, left, right, n);
    else
        LAUNCH(tree_sum_ones, grid, dim3(THREADS), 0, stream, y, left, right, n);
}
