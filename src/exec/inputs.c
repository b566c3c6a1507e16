/*
 * Inputs on their way to a device. They go up into memory of their own, beside a run that is at
 * work, and become that of the graph's values when theirs begins:
 *
 *     host  --UP-->  waiting  --COMPUTE-->  SLAB_IO
 *
 * where bytes become numbers on the last way, and images what was drawn for them.
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
    for (size_t i = 0; i < q->n_made; i++) {
        e->ops->release(e->device, SPACE_HOST, q->made[i].drawn);
        e->ops->release(e->device, SPACE_DEVICE, q->made[i].draws);
    }
}

static made_input *add_made(exec *e, const char *name)
{
    device_inputs *q = &e->queued->inputs;
    BUG_ON(q->n_made == COUNT_OF(q->made));
    q->made[q->n_made] = (made_input){.name = name};
    return &q->made[q->n_made++];
}

void inputs_as_bytes_of(exec *e, const char *name, const backend_bytes *meaning)
{
    add_made(e, name)->meaning = *meaning;
}

static int64_t examples_of(const variant *v, graph_val id)
{
    return graph_value_at(v->graph, id)->shape.dim[0];
}

status inputs_unfinished(exec *e, const char *name, const finish_form *form, finish_draw **ret, error *err)
{
    int64_t most = 0;
    for (size_t i = 0; i < e->n_variants; i++) {
        graph_val id = graph_find(e->variants[i].graph, name);
        int64_t n = id == GRAPH_NONE ? 0 : examples_of(&e->variants[i], id);
        most = n > most ? n : most;
    }
    *ret = NULL;
    if (most == 0)
        return OK;
    made_input *m = add_made(e, name);
    size_t bytes = (size_t)most * sizeof *m->draws;
    void *drawn = NULL, *draws = NULL;
    m->form = *form;
    TRY(e->ops->alloc(e->device, SPACE_HOST, bytes, "what is drawn for a batch", &drawn, err));
    m->drawn = drawn;
    TRY(e->ops->alloc(e->device, SPACE_DEVICE, bytes, "what is drawn for a batch", &draws, err));
    m->draws = draws;
    *ret = m->drawn;
    return OK;
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
static const made_input *made_of(const exec *e, const variant *v, graph_val id)
{
    const device_inputs *q = &e->queued->inputs;
    for (size_t i = 0; i < q->n_made; i++)
        if (strcmp(q->made[i].name, graph_value_at(v->graph, id)->name) == 0)
            return &q->made[i];
    return NULL;
}

static size_t elements_of(const variant *v, graph_val id)
{
    return (size_t)graph_shape_elements(&graph_value_at(v->graph, id)->shape);
}

static status send(const exec *e, const variant *v, graph_val id, error *err)
{
    const made_input *m = made_of(e, v, id);
    bool is_bytes = m && (!m->draws || m->form.kind != FINISH_FLOATS);
    size_t bytes = is_bytes ? elements_of(v, id) : plan_place_of(v->plan, id)->bytes;
    TRY(e->ops->queue->copy(e->device, QUEUE_UP, waiting(e, v, id), queued_host_address(e, v, id), bytes, err));
    if (!m || !m->draws)
        return OK;
    return e->ops->queue->copy(e->device, QUEUE_UP, m->draws, m->drawn,
                               (size_t)examples_of(v, id) * sizeof *m->draws, err);
}

static status inputs_take_value(const exec *e, const variant *v, graph_val id, error *err)
{
    const made_input *m = made_of(e, v, id);
    if (m && m->draws)
        return e->ops->queue->finish(e->device, v->addresses[id], waiting(e, v, id), &m->form, m->draws,
                                     examples_of(v, id), err);
    if (m)
        return e->ops->queue->expand(e->device, v->addresses[id], waiting(e, v, id),
                                     elements_of(v, id), &m->meaning, err);
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
