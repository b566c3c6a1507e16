/* What servers do, on the device. */
#include "backend/cuda/device/device.h"
#include "backend/cuda/device/gpu.h"
#include "backend/cuda/kernels/optim.h"

static status launched(error *err)
{
    return device_check(cudaGetLastError(), "the GPU refuses the kernel", err);
}

status update_begin(backend *b, backend_queue q, const struct update_part *u, const float *grad,
                    float *weight, float *const *state, error *err)
{
    launch_update(b->queues[q], u, grad, weight, state);
    return launched(err);
}

status square_sums_begin(backend *b, backend_queue q, double *sums, const float *x,
                         const struct update_span *spans, size_t n_spans, error *err)
{
    launch_square_sums(b->queues[q], sums, x, spans, n_spans);
    return launched(err);
}
