/*
 * Inputs on their way to a device. They go up into memory of their own, beside a run that is at
 * work, and become that of the graph's values when theirs begins:
 *
 *     host  --UP-->  waiting  --COMPUTE-->  SLAB_IO
 *
 * where bytes become numbers on the last way.
 * So three batches are under way: one computes, one waits on the device, one is being written. UP
 * writes `waiting` once it is taken, the host its own once they are sent.
 */
#include "exec/state.h"

#include <string.h>

status inputs_create(exec *e, error *err)
{
    device_inputs *q = &e->queued->inputs;
    size_t bytes = e->memory.io;
    TRY(e->ops->alloc(e->device, SPACE_DEVICE, bytes, "the next inputs", &q->waiting, err));
    TRY(e->ops->alloc(e->device, SPACE_HOST, bytes, "inputs on the host", &q->host, err));
    TRY(e->ops->queue->event_create(e->device, &q->sent, err));
    return e->ops->queue->event_create(e->device, &q->taken, err);
}

void inputs_destroy(exec *e)
{
    device_inputs *q = &e->queued->inputs;
    e->ops->queue->event_destroy(e->device, &q->sent);
    e->ops->queue->event_destroy(e->device, &q->taken);
    e->ops->release(e->device, SPACE_DEVICE, q->waiting);
    e->ops->release(e->device, SPACE_HOST, q->host);
}

static bool is_input(const variant *v, graph_val id)
{
    const plan_place *place = plan_place_of(v->plan, id);
    return graph_value_at(v->graph, id)->kind == VAL_INPUT && place->materialised &&
           place->bytes > 0;
}

static void *waiting(const exec *e, const variant *v, graph_val id)
{
    return (char *)e->queued->inputs.waiting + plan_place_of(v->plan, id)->offset;
}

/* NULL: it goes up as it is. */
static const backend_bytes *inputs_meaning_of(const exec *e, const variant *v, graph_val id)
{
    const device_inputs *q = &e->queued->inputs;
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
    size_t bytes = inputs_meaning_of(e, v, id) ? elements_of(v, id) : plan_place_of(v->plan, id)->bytes;
    return e->ops->queue->copy(e->device, QUEUE_UP, waiting(e, v, id),
                               queued_host_address(e, v, id), bytes, err);
}

static status inputs_take_value(const exec *e, const variant *v, graph_val id, error *err)
{
    const backend_bytes *meaning = inputs_meaning_of(e, v, id);
    if (meaning)
        return e->ops->queue->expand(e->device, v->addresses[id], waiting(e, v, id),
                                     elements_of(v, id), meaning, err);
    return e->ops->queue->copy(e->device, QUEUE_COMPUTE, v->addresses[id], waiting(e, v, id),
                               plan_place_of(v->plan, id)->bytes, err);
}

status inputs_refill(exec *e, error *err)
{
    device_inputs *q = &e->queued->inputs;
    q->next = NULL;
    return e->ops->queue->wait(e->device, q->sent, err);
}

status inputs_upload(exec *e, const variant *v, error *err)
{
    const backend_queue_ops *queue = e->ops->queue;
    device_inputs *q = &e->queued->inputs;
    TRY(queue->follow(e->device, QUEUE_UP, q->taken, err));
    for (graph_val i = 0; i < graph_n_values(v->graph); i++)
        if (is_input(v, i))
            TRY(send(e, v, i, err));
    TRY(queue->mark(e->device, QUEUE_UP, q->sent, err));
    q->next = v;
    return OK;
}

status inputs_take(exec *e, const variant *v, error *err)
{
    const backend_queue_ops *queue = e->ops->queue;
    device_inputs *q = &e->queued->inputs;
    if (q->next != v)
        TRY(inputs_upload(e, v, err));
    q->next = NULL;
    TRY(queue->follow(e->device, QUEUE_COMPUTE, q->sent, err));
    for (graph_val i = 0; i < graph_n_values(v->graph); i++)
        if (is_input(v, i))
            TRY(inputs_take_value(e, v, i, err));
    return queue->mark(e->device, QUEUE_COMPUTE, q->taken, err);
}
