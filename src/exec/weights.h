/*
 * Weight stores: where the weights live that a worker's lanes compute with. One interface, three places:
 *
 *   host      a flat vector here. What arrives is copied in. Kernels of the host read it where it is; a
 *             device has a copy, and is sent a part whenever that is another edition (weights_host.c)
 *   uploaded  the lanes' devices. What arrives is sent to each, while they may be at work: from where it
 *             lies, if that is memory which a server of this host shares with us (weights_uploaded.c)
 *   resident  the device of the only lane, where the server in this process has them: nothing arrives, and
 *             gradients stay there too (resident.c)
 *
 * Threads: a store is made and ended by the worker's thread, which also calls put, settle and leave; join is
 * the lanes', while they are built, one after another. What is called with an exec is that exec's thread's.
 */
#ifndef TEQUIO_EXEC_WEIGHTS_H
#define TEQUIO_EXEC_WEIGHTS_H

#include "common/base/span.h"
#include "common/net/net.h"
#include "exec/exec.h"

struct part_event;              /* exec/variant.h */

typedef struct weight_store_ops {
    bool keeps_gradients;   /* on the device: they are handed over there, before they are made */

    /* Of an exec whose device computes apart: takes what it needs of that; *ret_params is the flat vector
     * that kernels read. What was taken until a failure is given back by `close`. */
    MUST_USE status (*open)(weight_store *s, exec *e, void **ret_params, error *err);
    void (*close)(weight_store *s, exec *e);
    /* Kernels that the device is given from now on find this edition of the part (exec_hooks.need). Where
     * *ret_sent becomes true they have to come behind what QUEUE_UP has. */
    MUST_USE status (*need)(weight_store *s, exec *e, int32_t part, int64_t edition, bool *ret_sent,
                            error *err);
    /* Where one of these is NULL there is nothing to do. */

    /* The device was given all that reads the weights of these parts and makes their gradients; n > 0. */
    MUST_USE status (*made)(weight_store *s, exec *e, const struct part_event *parts, size_t n, error *err);
    /* An exec that was created with this store reads weights from here on. */
    MUST_USE status (*join)(weight_store *s, exec *e, error *err);
    /* Weights of a part have arrived. No run reads the part: none began that needs it, or it was `ready`.
     * A run whose `need` comes behind this finds them. The span is held for as long as it is needed.
     * E_DEVICE. */
    MUST_USE status (*put)(weight_store *s, int32_t part, span *weights, error *err);
    /* Nothing that was put is held any more. */
    MUST_USE status (*settle)(weight_store *s, error *err);
    /* The execs are about to end: waits for what is on its way to them. Nothing is put any more. */
    void (*leave)(weight_store *s);
    void (*destroy)(weight_store *s);       /* once these have ended */
} weight_store_ops;

struct weight_store {
    const weight_store_ops *ops;
    const float *values;    /* the flat vector, if it is on the host */
    net_memory memory;      /* to be told of memory that servers share; {0}: does not care */
};

static inline status weight_store_made(weight_store *s, exec *e, const struct part_event *parts, size_t n,
                                       error *err)
{
    return s->ops->made && n ? s->ops->made(s, e, parts, n, err) : OK;
}

static inline status weight_store_join(weight_store *s, exec *e, error *err)
{
    return s->ops->join ? s->ops->join(s, e, err) : OK;
}

static inline status weight_store_put(weight_store *s, int32_t part, span *weights, error *err)
{
    return s->ops->put ? s->ops->put(s, part, weights, err) : OK;
}

static inline status weight_store_settle(weight_store *s, error *err)
{
    return s->ops->settle ? s->ops->settle(s, err) : OK;
}

static inline void weight_store_leave(weight_store *s)
{
    if (s && s->ops->leave)
        s->ops->leave(s);
}

/* The flat vector, zero. E_NOMEM. `f` is kept. */
MUST_USE status weights_host_create(const flat *f, weight_store **ret, error *err);
/* Of one that its execs' devices share. `f` is kept. */
weight_store *weights_uploaded_create(const flat *f);
/* *s may be NULL. */
void weight_store_destroy(weight_store **s);

#endif
