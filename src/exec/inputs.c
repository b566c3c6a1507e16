/*
 * Inputs on their way to a device. They go up into memory of their own, beside a run that is at
 * work, and become that of the graph's values when theirs begins:
 *
 *     host's inputs  --UP-->  next_inputs  --COMPUTE-->  SLAB_IO
 *
 * where bytes become numbers on the last way.
 * So three batches are under way: one computes, one waits on the device, one is being written. UP
 * writes next_inputs once they are taken, the host its own once they are sent.
 */
#include "exec/state.h"

#include <string.h>

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

/* NULL: it goes up as it is. */
static const backend_bytes *meaning_of(const exec *e, const variant *v, graph_val id)
{
    const queued *q = e->queued;
    for (size_t i = 0; i < q->n_as_bytes; i++)
        if (strcmp(q->as_bytes[i].name, graph_value_at(v->graph, id)->name) == 0)
            return &q->as_bytes[i].meaning;
    return NULL;
}

static size_t elements_of(const variant *v, graph_val id)
{
    return (size_t)graph_shape_elements(&graph_value_at(v->graph, id)->shape);
}

static status send(const exec *e, const variant *v, graph_val id, error *err)
{
    size_t bytes = meaning_of(e, v, id) ? elements_of(v, id) : plan_place_of(v->plan, id)->bytes;
    return e->ops->queue->copy(e->device, QUEUE_UP, waiting(e, v, id),
                               queued_host_address(e, v, id), bytes, err);
}

static status take(const exec *e, const variant *v, graph_val id, error *err)
{
    const backend_bytes *meaning = meaning_of(e, v, id);
    if (meaning)
        return e->ops->queue->expand(e->device, v->addresses[id], waiting(e, v, id),
                                     elements_of(v, id), meaning, err);
    return e->ops->queue->copy(e->device, QUEUE_COMPUTE, v->addresses[id], waiting(e, v, id),
                               plan_place_of(v->plan, id)->bytes, err);
}

status inputs_refill(exec *e, error *err)
{
    e->queued->next = NULL;
    return e->ops->queue->wait(e->device, e->queued->sent, err);
}

status inputs_upload(exec *e, const variant *v, error *err)
{
    const backend_queue_ops *queue = e->ops->queue;
    TRY(queue->follow(e->device, QUEUE_UP, e->queued->taken, err));
    for (graph_val i = 0; i < graph_n_values(v->graph); i++)
        if (is_input(v, i))
            TRY(send(e, v, i, err));
    TRY(queue->mark(e->device, QUEUE_UP, e->queued->sent, err));
    e->queued->next = v;
    return OK;
}

status inputs_take(exec *e, const variant *v, error *err)
{
    const backend_queue_ops *queue = e->ops->queue;
    if (e->queued->next != v)
        TRY(inputs_upload(e, v, err));
    e->queued->next = NULL;
    TRY(queue->follow(e->device, QUEUE_COMPUTE, e->queued->sent, err));
    for (graph_val i = 0; i < graph_n_values(v->graph); i++)
        if (is_input(v, i))
            TRY(take(e, v, i, err));
    return queue->mark(e->device, QUEUE_COMPUTE, e->queued->taken, err);
}
