/*
 * Weights on the host: a worker's own flat vector, or one that somebody binds to an exec (exec_bind_params).
 * For a device the vector is pinned, and it gets what has changed, part by part.
 */
#include "common/base/alloc.h"
#include "exec/state.h"

#include <stdlib.h>
#include <string.h>

typedef struct host_weights {
    weight_store base;      /* the first member: a pointer to it is one to this */
    const flat *flat;
    float *values;
} host_weights;

/* --- a device --- */

/* Without pinning copies up take a detour, and are right all the same: somebody else may have
 * pinned the memory already, or the system may not let us. */
static void weights_host_pin(exec *e, const float *flat_values)
{
    queued *q = e->queued;
    void *memory = (void *)(uintptr_t)flat_values;
    if (q->weights.pinned == memory)
        return;
    if (q->weights.pinned)
        e->ops->queue->unpin(e->device, q->weights.pinned);
    q->weights.pinned = NULL;
    if (memory && e->memory.param &&
        e->ops->queue->pin(e->device, memory, e->memory.param, NULL) == OK)
        q->weights.pinned = memory;
}

void weights_bind(exec *e, const float *flat_values)
{
    BUG_ON(e->weights->ops != &weights_on_host);
    e->params = flat_values;
    if (e->queued) {
        weights_host_pin(e, flat_values);
        device_weights_forget(e);
    }
    for (size_t i = 0; !e->queued && i < e->n_variants; i++)
        variant_bind(&e->variants[i], flat_values);
}

static status host_open(weight_store *s, exec *e, void **ret_params, error *err)
{
    (void)s;
    return e->ops->alloc(e->device, SPACE_DEVICE, e->memory.param, "parameters", ret_params, err);
}

static void host_close(weight_store *s, exec *e)
{
    (void)s;
    weights_host_pin(e, NULL);
    e->ops->release(e->device, SPACE_DEVICE, e->queued->weights.params);
}

static status host_need(weight_store *s, exec *e, int32_t part, int64_t edition, bool *ret_sent,
                        error *err)
{
    int64_t begin = e->flat->parts[part].begin;
    size_t bytes = (size_t)flat_part_elements(e->flat, part) * sizeof(float);
    (void)s;
    if (device_weights_has(e, part, edition))
        return OK;
    *ret_sent = true;
    if (bytes)
        TRY(e->ops->queue->copy(e->device, QUEUE_UP, (float *)e->queued->weights.params + begin,
                                e->params + begin, bytes, err));
    e->queued->weights.editions[part] = edition;
    return OK;
}

/* --- a worker --- */

static status host_join(weight_store *s, exec *e, error *err)
{
    (void)err;
    weights_bind(e, s->values);
    return OK;
}

static status host_put(weight_store *s, int32_t part, span *weights, error *err)
{
    const host_weights *h = (const host_weights *)s;
    (void)err;
    memcpy(h->values + h->flat->parts[part].begin, weights->data, weights->bytes);
    return OK;
}

static void host_destroy(weight_store *s)
{
    mem_free(((host_weights *)s)->values);
    free(s);
}

const weight_store_ops weights_on_host = {
    .open = host_open,
    .close = host_close,
    .need = host_need,
    .join = host_join,
    .put = host_put,
    .destroy = host_destroy,
};

status weights_host_create(const flat *f, weight_store **ret, error *err)
{
    void *values = NULL;
    TRY(mem_alloc((size_t)f->n_elements * sizeof(float), "the flat vector", &values, err));
    host_weights *h = xcalloc(1, sizeof *h);
    h->base = (weight_store){.ops = &weights_on_host, .values = values};
    h->flat = f;
    h->values = values;
    *ret = &h->base;
    return OK;
}

void weight_store_destroy(weight_store **s)
{
    if (*s)
        (*s)->ops->destroy(*s);
    *s = NULL;
}
