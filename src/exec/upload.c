#include "exec/upload.h"

#include "exec/state.h"

static const backend_queue_ops *queue_of(const exec *e)
{
    return e->ops->queue;
}

status exec_upload_part(exec *e, int32_t part, const float *data, error *err)
{
    const part_range *range = &e->flat->parts[part];
    float *to = (float *)e->queued->params + range->begin;
    TRY(queue_of(e)->enter(e->device, err));
    TRY(queue_of(e)->copy(e->device, QUEUE_UP, to, data,
                          (size_t)(range->end - range->begin) * sizeof *to, err));
    return queue_of(e)->mark(e->device, QUEUE_UP, e->queued->uploaded[part], err);
}

status exec_wait_part(exec *e, int32_t part, error *err)
{
    TRY(queue_of(e)->enter(e->device, err));
    return queue_of(e)->wait(e->device, e->queued->uploaded[part], err);
}

status exec_pin(exec *e, void *p, size_t bytes, error *err)
{
    TRY(queue_of(e)->enter(e->device, err));
    return queue_of(e)->pin(e->device, p, bytes, err);
}

void exec_unpin(exec *e, void *p)
{
    if (queue_of(e)->enter(e->device, NULL) == OK)
        queue_of(e)->unpin(e->device, p);
}
