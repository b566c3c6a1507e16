/*
 * Inputs on their way to a device. They go up into memory of their own, beside a run that is at
 * work, and become that of the graph's values when theirs begins:
 *
 *     host's inputs  --UP-->  next_inputs  --COMPUTE-->  SLAB_IO
 *
 * So three batches are under way: one computes, one waits on the device, one is being written. UP
 * writes next_inputs once they are taken, the host its own once they are sent.
 */
#include "exec/state.h"

static bool is_input(const variant *v, graph_val id)
{
    const plan_place *place = plan_place_of(v->plan, id);
    return graph_value_at(v->graph, id)->kind == VAL_INPUT && place->materialised &&
           place->bytes > 0;
}

static void *waiting(const exec *e, const variant *v, graph_val id)
{
    return (char *)e->queued->next_inputs + plan_place_of(v->plan, id)->offset;
}

status inputs_refill(exec *e, error *err)
{
    e->queued->next = NULL;
    return e->ops->async->wait(e->device, e->queued->sent, err);
}

status inputs_upload(exec *e, const variant *v, error *err)
{
    const backend_async *async = e->ops->async;
    TRY(async->follow(e->device, QUEUE_UP, e->queued->taken, err));
    for (graph_val i = 0; i < graph_n_values(v->graph); i++)
        if (is_input(v, i))
            TRY(async->copy(e->device, QUEUE_UP, waiting(e, v, i), queued_host_address(e, v, i),
                            plan_place_of(v->plan, i)->bytes, err));
    TRY(async->mark(e->device, QUEUE_UP, e->queued->sent, err));
    e->queued->next = v;
    return OK;
}

status inputs_take(exec *e, const variant *v, error *err)
{
    const backend_async *async = e->ops->async;
    if (e->queued->next != v)
        TRY(inputs_upload(e, v, err));
    e->queued->next = NULL;
    TRY(async->follow(e->device, QUEUE_COMPUTE, e->queued->sent, err));
    for (graph_val i = 0; i < graph_n_values(v->graph); i++)
        if (is_input(v, i))
            TRY(async->copy(e->device, QUEUE_COMPUTE, v->addresses[i], waiting(e, v, i),
                            plan_place_of(v->plan, i)->bytes, err));
    return async->mark(e->device, QUEUE_COMPUTE, e->queued->taken, err);
}
