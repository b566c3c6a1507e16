/*
 * What an exec has for a device that computes apart, with memory of its own: its parts, the host's mirror of
 * kept values and gradients, and the events its queues meet at.
 */
#include "common/base/alloc.h"
#include "exec/state.h"

#include <stdlib.h>

static const backend_queue_ops *queue_of(const exec *e)
{
    return e->ops->queue;
}

static status create_events(exec *e, error *err)
{
    queued *q = e->queued;
    size_t n = e->flat ? (size_t)e->flat->n_live_parts : 0;
    q->landed = xcalloc(n + 1, sizeof *q->landed);
    q->tells = xcalloc(n + 1, sizeof *q->tells);
    q->words = xcalloc(n + 1, sizeof *q->words);
    backend_event **all[] = {&q->made, &q->end};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        TRY(queue_of(e)->event_create(e->device, all[i], err));
    for (size_t i = 0; i < n; i++)
        TRY(queue_of(e)->event_create(e->device, &q->landed[i], err));
    return OK;
}

size_t queued_n_faults(const exec *e)
{
    return (e->flat ? (size_t)e->flat->n_live_parts : 0) + 1;
}

/* Gradients that stay on the device have no other place to be added up in. */
static status take_sums(exec *e, uint8_t level, error *err)
{
    if (sums_reserve(e, level) < level)
        return FAIL(err, E_NOMEM, "the device lacks memory for sums of gradients");
    return OK;
}

status queued_create(exec *e, const exec_options *o, error *err)
{
    const exec_memory *m = &e->memory;
    size_t faults = queued_n_faults(e) * sizeof(uint64_t);
    queued *q = e->queued = xcalloc(1, sizeof *q);
    TRY(device_weights_create(e, err));
    TRY(inputs_create(e, err));
    TRY(e->ops->alloc(e->device, SPACE_HOST, m->io, "outputs on the host", &q->kept, err));
    if (e->weights->ops->keeps_gradients)
        TRY(take_sums(e, o->sum_level, err));
    else
        TRY(e->ops->alloc(e->device, SPACE_HOST, m->grad, "gradients on the host", &q->grad, err));
    TRY(e->ops->alloc(e->device, SPACE_HOST, faults, "words about bad data", &q->faults, err));
    if (o->traces)
        TRY(device_trace_create(e, err));
    return create_events(e, err);
}

void queued_destroy(exec *e)
{
    queued *q = e->queued;
    if (!q)
        return;
    for (size_t i = 0; q->landed && e->flat && i < (size_t)e->flat->n_live_parts; i++)
        queue_of(e)->event_destroy(e->device, &q->landed[i]);
    backend_event **others[] = {&q->made, &q->end};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        queue_of(e)->event_destroy(e->device, others[i]);
    device_weights_destroy(e);
    inputs_destroy(e);
    sums_destroy(e);
    exchange_destroy(e);
    device_trace_destroy(e);
    e->ops->release(e->device, SPACE_HOST, q->kept);
    e->ops->release(e->device, SPACE_HOST, q->grad);
    e->ops->release(e->device, SPACE_HOST, q->faults);
    free(q->landed);
    free(q->tells);
    free(q->words);
    free(q);
    e->queued = NULL;
}
