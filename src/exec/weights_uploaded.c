/*
 * Weights that are sent to the lanes' devices, one part after another, as they arrive. They are taken
 * from where they lie if that is memory a server of this host shares with us, which the devices are told
 * of: what was received is kept until all devices have their copy, while the next parts arrive. What came
 * another way is copied once, to memory that devices know. Parts on their way are few, so that servers
 * soon have their memory back.
 */
#include "common/base/alloc.h"
#include "common/base/log.h"
#include "exec/state.h"

#include <stdlib.h>
#include <string.h>

/* Enough for devices to be at one while the next arrive. */
enum { TRANSFERS = 4 };

typedef struct transfer {
    int32_t part;           /* -1: none */
    span *held;             /* what it lies in; NULL: in the stage */
    float *stage;
} transfer;

/* Memory the devices know. */
typedef struct pinned_range {
    const char *begin, *end;
} pinned_range;

typedef struct uploaded {
    weight_store base;      /* the first member: a pointer to it is one to this */
    const flat *flat;
    exec **engines;
    size_t n_engines, cap_engines;
    pinned_range *pinned;
    size_t n_pinned, cap_pinned;
    transfer transfers[TRANSFERS];
    size_t next;            /* of them */
    void *stages;           /* NULL: nobody has joined */
    bool are_known;         /* the stages, to the devices */
} uploaded;

static uploaded *uploaded_of(weight_store *s)
{
    return (uploaded *)s;
}

/* --- one device --- */

static status device_send(exec *e, int32_t part, const float *data, error *err)
{
    const part_range *range = &e->flat->parts[part];
    float *to = (float *)e->queued->weights.params + range->begin;
    TRY(e->ops->queue->enter(e->device, err));
    TRY(e->ops->queue->copy(e->device, QUEUE_UP, to, data,
                            (size_t)(range->end - range->begin) * sizeof *to, err));
    return e->ops->queue->mark(e->device, QUEUE_UP, e->queued->weights.arrivals[part], err);
}

/* Returns when the device has what it was sent of the part last. */
static status device_wait(exec *e, int32_t part, error *err)
{
    TRY(e->ops->queue->enter(e->device, err));
    return e->ops->queue->wait(e->device, e->queued->weights.arrivals[part], err);
}

/* To all devices of this backend, until device_unpin. */
static status device_pin(exec *e, void *p, size_t bytes, error *err)
{
    TRY(e->ops->queue->enter(e->device, err));
    return e->ops->queue->pin(e->device, p, bytes, err);
}

static void device_unpin(exec *e, void *p)
{
    if (e->ops->queue->enter(e->device, NULL) == OK)
        e->ops->queue->unpin(e->device, p);
}

static status uploaded_open(weight_store *s, exec *e, void **ret_params, error *err)
{
    queued *q = e->queued;
    (void)s;
    TRY(e->ops->alloc(e->device, SPACE_DEVICE, e->memory.param, "parameters", ret_params, err));
    q->weights.arrivals = xcalloc((size_t)e->flat->n_parts, sizeof *q->weights.arrivals);
    for (int32_t p = 0; p < e->flat->n_parts; p++)
        TRY(e->ops->queue->event_create(e->device, &q->weights.arrivals[p], err));
    return OK;
}

static void uploaded_close(weight_store *s, exec *e)
{
    queued *q = e->queued;
    (void)s;
    for (int32_t p = 0; q->weights.arrivals && p < e->flat->n_parts; p++)
        e->ops->queue->event_destroy(e->device, &q->weights.arrivals[p]);
    free(q->weights.arrivals);
    e->ops->release(e->device, SPACE_DEVICE, q->weights.params);
}

/* It is in QUEUE_UP by then. */
static status uploaded_need(weight_store *s, exec *e, int32_t part, int64_t edition, bool *ret_sent,
                            error *err)
{
    (void)s, (void)ret_sent;
    if (device_weights_has(e, part, edition))
        return OK;
    TRY(e->ops->queue->follow(e->device, QUEUE_COMPUTE, e->queued->weights.arrivals[part], err));
    e->queued->weights.editions[part] = edition;
    return OK;
}

/* --- transfers to all of them --- */

static size_t stage_elements(const flat *f)
{
    size_t most = 0;
    for (int32_t p = 0; p < f->n_parts; p++) {
        size_t n = size_round_up((size_t)flat_part_elements(f, p), FLAT_ALIGN);
        most = n > most ? n : most;
    }
    return most;
}

static status take_stages(uploaded *u, exec *e, error *err)
{
    size_t n = stage_elements(u->flat), bytes = TRANSFERS * n * sizeof(float);
    TRY(mem_alloc(bytes, "parts on their way to devices", &u->stages, err));
    for (size_t i = 0; i < TRANSFERS; i++)
        u->transfers[i].stage = (float *)u->stages + i * n;
    u->are_known = device_pin(e, u->stages, bytes, NULL) == OK;
    return OK;
}

static status uploaded_join(weight_store *s, exec *e, error *err)
{
    uploaded *u = uploaded_of(s);
    if (!u->stages)
        TRY(take_stages(u, e, err));
    GROW(u->engines, u->cap_engines, u->n_engines + 1);
    u->engines[u->n_engines++] = e;
    return OK;
}

/* Whatever became of a device, the others are waited for, and the memory goes back. */
static status weights_uploaded_end(uploaded *u, transfer *t, error *err)
{
    status st = OK;
    for (size_t i = 0; t->part >= 0 && i < u->n_engines; i++) {
        status one = device_wait(u->engines[i], t->part, st == OK ? err : NULL);
        st = st == OK ? one : st;
    }
    span_drop(span_move(&t->held));
    t->part = -1;
    return st;
}

static status uploaded_settle(weight_store *s, error *err)
{
    uploaded *u = uploaded_of(s);
    status st = OK;
    for (size_t i = 0; i < TRANSFERS; i++) {
        status one = weights_uploaded_end(u, &u->transfers[(u->next + i) % TRANSFERS], st == OK ? err : NULL);
        st = st == OK ? one : st;
    }
    return st;
}

static bool weights_uploaded_is_known(const uploaded *u, const float *data)
{
    for (size_t i = 0; i < u->n_pinned; i++)
        if ((const char *)data >= u->pinned[i].begin && (const char *)data < u->pinned[i].end)
            return true;
    return false;
}

static status uploaded_put(weight_store *s, int32_t part, span *weights, error *err)
{
    uploaded *u = uploaded_of(s);
    transfer *t = &u->transfers[u->next++ % TRANSFERS];
    const float *data = t->stage;
    TRY(weights_uploaded_end(u, t, err));
    if (weights_uploaded_is_known(u, weights->floats)) {
        t->held = span_hold(weights);
        data = t->held->floats;
    } else {
        memcpy(t->stage, weights->data, weights->bytes);
    }
    t->part = part;
    for (size_t i = 0; i < u->n_engines; i++)
        TRY(device_send(u->engines[i], part, data, err));
    return OK;
}

/* --- shared memory --- */

static void mapped(void *user, void *p, size_t bytes)
{
    uploaded *u = user;
    error why = ERROR_INIT;
    if (device_pin(u->engines[0], p, bytes, &why) != OK) {
        LOG_W("SHARED", "weights that a server shares are copied once more on the host: %s", why.text);
        return;
    }
    GROW(u->pinned, u->cap_pinned, u->n_pinned + 1);
    u->pinned[u->n_pinned++] = (pinned_range){p, (const char *)p + bytes};
    LOG_D("SHARED", "devices take weights from it");
}

static void unmapped(void *user, void *p)
{
    uploaded *u = user;
    for (size_t i = 0; i < u->n_pinned; i++)
        if (u->pinned[i].begin == p) {
            device_unpin(u->engines[0], p);
            u->pinned[i] = u->pinned[--u->n_pinned];
            return;
        }
}

/* --- its life --- */

/* What is held may be the last of its memory: that is unpinned while there is an engine to do it. */
static void uploaded_leave(weight_store *s)
{
    uploaded *u = uploaded_of(s);
    for (size_t i = 0; i < TRANSFERS; i++)
        (void)weights_uploaded_end(u, &u->transfers[i], NULL);
    if (u->are_known)
        device_unpin(u->engines[0], u->stages);
    u->are_known = false;
    u->n_engines = u->n_pinned = 0;
}

static void uploaded_destroy(weight_store *s)
{
    uploaded *u = uploaded_of(s);
    uploaded_leave(s);
    mem_free(u->stages);
    free(u->engines);
    free(u->pinned);
    free(u);
}

weight_store *weights_uploaded_create(const flat *f)
{
    static const weight_store_ops ops = {
        .open = uploaded_open,
        .close = uploaded_close,
        .need = uploaded_need,
        .join = uploaded_join,
        .put = uploaded_put,
        .settle = uploaded_settle,
        .leave = uploaded_leave,
        .destroy = uploaded_destroy,
    };
    uploaded *u = xcalloc(1, sizeof *u);
    u->base = (weight_store){.ops = &ops, .memory = {mapped, unmapped, u}};
    u->flat = f;
    for (size_t i = 0; i < TRANSFERS; i++)
        u->transfers[i].part = -1;
    return &u->base;
}
