/*
 * Updates of weights and sums of squares as the servers make them (optim/update.h, optim/optim.h),
 * bit for bit: compiled without contraction, sums in the same lanes.
 */
#include "backend/cuda/kernels/optim.h"
#include "backend/cuda/kernels/rows.cuh"

#include "optim/update.h"

enum { UPDATE_THREADS = 256, UPDATE_SLOTS = 3, SQUARE_BLOCK = 4096, SQUARE_LANES = 16 };

/* The vectors an update reads and writes. */
struct update_vectors {
    const float *grad, *weight, *state[UPDATE_SLOTS];
    float *weight_out, *state_out[UPDATE_SLOTS];
};

/* One element; `state` holds its states in slot order, and then the new ones. */
static __device__ __forceinline__ float update_one(const update &u, float grad, float w,
                                                   float state[UPDATE_SLOTS])
{
    float g = update_gradient_of(grad, w, &u.gradient);
    switch (u.kind) {
    case UPDATE_SGD:
        return update_by_sgd(w, g, u.by.sgd.rate);
    case UPDATE_SGD_MOMENTUM:
        return update_by_momentum(w, g, &state[0], &u.by.sgd);
    case UPDATE_ADAM:
        return update_by_adam(w, g, &state[0], &state[1], &u.by.adam);
    case UPDATE_ADAGRAD:
        return update_by_adagrad(w, g, &state[0], &u.by.adagrad);
    default:
        break;
    }
    if (u.centered)
        return update_by_rmsprop(w, g, &state[0], &state[1], u.momentum ? &state[2] : (float *)0,
                                 &u.by.rmsprop);
    return update_by_rmsprop(w, g, &state[0], (float *)0, u.momentum ? &state[1] : (float *)0,
                             &u.by.rmsprop);
}

static KERNEL(UPDATE_THREADS, update_all, update u, update_vectors v, int64_t n, bool aligned)
{
    for (int64_t i = 4 * ((int64_t)blockIdx.x * UPDATE_THREADS + threadIdx.x); i < n;
         i += 4 * (int64_t)gridDim.x * UPDATE_THREADS) {
        quad grad = quad_load(v.grad, i, n, aligned), w = quad_load(v.weight, i, n, aligned);
        quad s[UPDATE_SLOTS] = {};
#pragma unroll
        for (int k = 0; k < UPDATE_SLOTS; k++)
            if (k < (int)u.slots)
                s[k] = quad_load(v.state[k], i, n, aligned);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float state[UPDATE_SLOTS] = {s[0].v[j], s[1].v[j], s[2].v[j]};
            w.v[j] = update_one(u, grad.v[j], w.v[j], state);
#pragma unroll
            for (int k = 0; k < UPDATE_SLOTS; k++)
                s[k].v[j] = state[k];
        }
        quad_store(v.weight_out, i, n, aligned, w);
#pragma unroll
        for (int k = 0; k < UPDATE_SLOTS; k++)
            if (k < (int)u.slots)
                quad_store(v.state_out[k], i, n, aligned, s[k]);
    }
}

void launch_update(cuda_stream stream, const struct update *u, int64_t n, const float *grad,
                   const float *weight, float *weight_out, const float *const *state,
                   float *const *state_out)
{
    update_vectors v = {};
    bool aligned = rows_aligned(grad, 4) && rows_aligned(weight, 4) && rows_aligned(weight_out, 4);
    if (n == 0)
        return;
    v.grad = grad;
    v.weight = weight;
    v.weight_out = weight_out;
    for (size_t k = 0; k < u->slots; k++) {
        v.state[k] = state[k];
        v.state_out[k] = state_out[k];
        aligned = aligned && rows_aligned(state[k], 4) && rows_aligned(state_out[k], 4);
    }
    LAUNCH(update_all, dim3(blocks_for(n, 4 * UPDATE_THREADS)), dim3(UPDATE_THREADS), 0, stream, *u,
           v, n, aligned);
}

static KERNEL(UPDATE_THREADS, average, float *y, const float *value, const float *x, int64_t n,
              float keep, float take)
{
    for (int64_t i = (int64_t)blockIdx.x * UPDATE_THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * UPDATE_THREADS)
        y[i] = update_by_average(value[i], x[i], keep, take);
}

void launch_average(cuda_stream stream, float momentum, float scale, int64_t n, const float *value,
                    const float *x, float *y)
{
    if (n > 0)
        LAUNCH(average, dim3(blocks_for(n, UPDATE_THREADS)), dim3(UPDATE_THREADS), 0, stream, y,
               value, x, n, momentum, (1.0f - momentum) * scale);
}

/* Lane j of 16 has numbers j, j + 16 and so on; the lanes are added pairwise. Half a warp a block
 * of the grid, so that both halves shuffle. */
static KERNEL(2 * SQUARE_LANES, square_sums, double *sums, const float *x, int64_t before,
              int64_t n)
{
    int lane = (int)threadIdx.x % SQUARE_LANES;
    int64_t block = 2 * (int64_t)blockIdx.x + threadIdx.x / SQUARE_LANES;
    int64_t first = block * SQUARE_BLOCK - before, stop = first + SQUARE_BLOCK;
    double sum = 0.0;
    first = first < 0 ? 0 : first;
    stop = stop < n ? stop : n;
    for (int64_t i = first + lane; i < stop; i += SQUARE_LANES)
        sum += (double)x[i] * (double)x[i];
    for (int width = SQUARE_LANES / 2; width > 0; width /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, width);
    if (lane == 0 && IN(first < n))
        sums[block] = sum;
}

void launch_square_sums(cuda_stream stream, double *sums, const float *x, int64_t first, int64_t n)
{
    int64_t before = first % SQUARE_BLOCK, blocks = (before + n + SQUARE_BLOCK - 1) / SQUARE_BLOCK;
    if (n > 0)
        LAUNCH(square_sums, dim3((unsigned)((blocks + 1) / 2)), dim3(2 * SQUARE_LANES), 0, stream,
               sums, x, before, n);
}
