/* What a walk through a graph asks of its caller, and where the gradients are that it hands over. */
#include "exec/state.h"

float *exec_grad(exec *e)
{
    return e->queued && !e->weights->ops->keeps_gradients ? e->queued->grad : e->slabs[SLAB_GRAD];
}

bool hooks_cancelled(const exec_hooks *hooks)
{
    return hooks && hooks->cancel && atomic_load_explicit(hooks->cancel, memory_order_relaxed);
}

status hooks_ready(const exec_hooks *hooks, const flat *f, int32_t part, const float *grad,
                   error *err)
{
    if (!hooks || !hooks->ready)
        return OK;
    return hooks->ready(hooks->user, part, grad ? grad + f->parts[part].begin : NULL, err);
}
