/* Operators whose output has the bytes of the input, and Zero. Any element type. */
#include "backend/cuda/device/device.h"
#include "backend/cuda/plan/plan.h"

static status run_copy(const cuda_node *n, const cuda_call *c, error *err)
{
    if (c->in[0] == c->out[0])
        return OK;
    return device_check(cudaMemcpyAsync(c->out[0], c->in[0], n->program->bytes[n->node->out[0]],
                                        cudaMemcpyDeviceToDevice, c->stream),
                        "a copy", err);
}

static status run_zero(const cuda_node *n, const cuda_call *c, error *err)
{
    return device_check(
        cudaMemsetAsync(c->out[0], 0, n->program->bytes[n->node->out[0]], c->stream), "clearing",
        err);
}

status cuda_plan_copy(cuda_node *n)
{
    n->body = run_copy;
    return OK;
}

status cuda_plan_zero(cuda_node *n)
{
    n->body = run_zero;
    return OK;
}
