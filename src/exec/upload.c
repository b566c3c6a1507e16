#include "exec/upload.h"

#include "exec/state.h"

static const backend_async *async_of(const exec *e)
{
    return e->ops->async;
}

status exec_upload_part(exec *e, int32_t part, const float *data, error *err)
{
    const part_range *range = &e->flat->parts[part];
    float *to = (float *)e->queued->params + range->begin;
    TRY(async_of(e)->enter(e->device, err));
    TRY(async_of(e)->copy(e->device, QUEUE_UP, to, data,
                          (size_t)(range->end - range->begin) * sizeof *to, err));
    return async_of(e)->mark(e->device, QUEUE_UP, e->queued->uploaded[part], err);
}

status exec_wait_part(exec *e, int32_t part, error *err)
{
    TRY(async_of(e)->enter(e->device, err));
    return async_of(e)->wait(e->device, e->queued->uploaded[part], err);
}

status exec_pin(exec *e, void *p, size_t bytes, error *err)
{
    TRY(async_of(e)->enter(e->device, err));
    return async_of(e)->pin(e->device, p, bytes, err);
}

void exec_unpin(exec *e, void *p)
{
    if (async_of(e)->enter(e->device, NULL) == OK)
        async_of(e)->unpin(e->device, p);
}
