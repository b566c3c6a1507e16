/* What servers do, on the device. */
#include "backend/cuda/device/device.h"
#include "backend/cuda/device/gpu.h"
#include "backend/cuda/kernels/optim.h"

static status launched(error *err)
{
    return device_check(cudaGetLastError(), "the GPU refuses the kernel", err);
}

status update_begin(backend *b, backend_queue q, const struct update *u, size_t n, const float *grad,
                    const float *weight, float *weight_out, const float *const *state,
                    float *const *state_out, error *err)
{
    launch_update(b->queues[q], u, (int64_t)n, grad, weight, weight_out, state, state_out);
    return launched(err);
}

status average_begin(backend *b, backend_queue q, float momentum, float scale, size_t n,
                     const float *value, const float *in, float *out, error *err)
{
    launch_average(b->queues[q], momentum, scale, (int64_t)n, value, in, out);
    return launched(err);
}

status square_sums_begin(backend *b, backend_queue q, double *sums, int64_t first, size_t n,
                         const float *x, error *err)
{
    launch_square_sums(b->queues[q], sums, x, first, (int64_t)n);
    return launched(err);
}
