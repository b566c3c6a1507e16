/*
 * The weights that a device has: its flat vector, and which edition of each part is in it. Where they come
 * from is the weight store's (weights.h).
 *
 * Threads: the exec's; `arrivals` as the store's.
 */
#ifndef TEQUIO_EXEC_DEVICE_WEIGHTS_H
#define TEQUIO_EXEC_DEVICE_WEIGHTS_H

#include "exec/exec.h"

typedef struct device_weights {
    void *params;           /* the device's flat vector */
    void *pinned;           /* the caller's, as long as it is */
    int64_t *editions;      /* [n_parts] of what kernels find there; -1: nothing yet */
    backend_event **arrivals; /* [n_parts] UP: what came last is there; NULL: weights do not come so */
    backend_event *arrived; /* UP: weights that kernels wait for */
} device_weights;

/* What was made until a failure device_weights_destroy takes too. */
MUST_USE status device_weights_create(exec *e, error *err);
void device_weights_destroy(exec *e);

/* No part counts as being on the device. */
void device_weights_forget(exec *e);
/* Whether the device has this edition of a part. If not, it has none, until `editions` says so. */
bool device_weights_has(exec *e, int32_t part, int64_t edition);
/* The flat vector to the host; returns when it is there. */
MUST_USE status device_weights_read(const exec *e, float *ret, error *err);

#endif
