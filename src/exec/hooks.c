/* What a walk through a graph asks of its caller, and where the values are that it hands over. */
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

void *queued_host_address(const exec *e, const variant *v, graph_val id)
{
    const plan_place *place = plan_place_of(v->plan, id);
    bool is_input = graph_value_at(v->graph, id)->kind == VAL_INPUT;
    switch (place->slab) {
    case SLAB_IO:
        return (char *)(is_input ? e->queued->inputs.host : e->queued->kept) + place->offset;
    case SLAB_GRAD:
        return (char *)e->queued->grad + place->offset;
    case SLAB_PARAM:
        BUG_ON(!e->params);
        return (char *)(uintptr_t)e->params + place->offset;
    case SLAB_CONST:
        return (void *)(uintptr_t)graph_value_at(v->graph, id)->data;
    default:
        BUG("'%s' is kept, and lies where nobody may look", graph_value_at(v->graph, id)->name);
    }
}
