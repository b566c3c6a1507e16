#include "common/base/alloc.h"
#include "exec/state.h"

#include <stdlib.h>

status device_weights_create(exec *e, error *err)
{
    device_weights *w = &e->queued->weights;
    w->editions = xcalloc(e->flat ? (size_t)e->flat->n_parts + 1 : 1, sizeof *w->editions);
    device_weights_forget(e);
    TRY(e->weights->ops->open(e->weights, e, &w->params, err));
    return e->ops->queue->event_create(e->device, &w->arrived, err);
}

void device_weights_destroy(exec *e)
{
    e->weights->ops->close(e->weights, e);
    e->ops->queue->event_destroy(e->device, &e->queued->weights.arrived);
    free(e->queued->weights.editions);
}

void device_weights_forget(exec *e)
{
    for (int32_t p = 0; e->flat && p < e->flat->n_parts; p++)
        e->queued->weights.editions[p] = -1;
}

bool device_weights_has(exec *e, int32_t part, int64_t edition)
{
    bool has = edition >= 0 && e->queued->weights.editions[part] == edition;
    if (!has)
        e->queued->weights.editions[part] = -1;
    return has;
}

status device_weights_read(const exec *e, float *ret, error *err)
{
    TRY(e->ops->queue->copy(e->device, QUEUE_DOWN, ret, e->queued->weights.params, e->memory.param, err));
    TRY(e->ops->queue->mark(e->device, QUEUE_DOWN, e->queued->end, err));
    return e->ops->queue->wait(e->device, e->queued->end, err);
}
