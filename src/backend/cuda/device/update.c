/* What is made of gradients, on the device: sums over slots, and what servers do. */
#include "backend/cuda/device/device.h"
#include "backend/cuda/device/gpu.h"
#include "backend/cuda/kernels/optim.h"
#include "backend/cuda/kernels/tree_sum.h"

static status launched(error *err)
{
    return device_check(cudaGetLastError(), "the GPU refuses the kernel", err);
}

static status sum(backend *b, backend_queue q, float *dst, const float *left, const float *right,
                  size_t n, error *err)
{
    launch_tree_sum(b->queues[q], dst, left, right, n);
    return launched(err);
}

static status update(backend *b, backend_queue q, const struct update_part *u, const float *grad,
                    float *weight, float *const *state, error *err)
{
    launch_update(b->queues[q], u, grad, weight, state);
    return launched(err);
}

static status square_sums(backend *b, backend_queue q, double *sums, const float *x,
                         const struct update_span *spans, size_t n_spans, error *err)
{
    launch_square_sums(b->queues[q], sums, x, spans, n_spans);
    return launched(err);
}

const backend_optimizer_ops cuda_optimizer_ops = {.sum = sum, .update = update, .square_sums = square_sums};
