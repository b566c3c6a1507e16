/*
 * What a lane's engine reads of a batch, and what it says of it: where the values of one variant
 * are.
 * Threads: the engine's.
 */
#ifndef TEQUIO_WORKER_INPUTS_H
#define TEQUIO_WORKER_INPUTS_H

#include "data/data.h"
#include "exec/exec.h"

typedef struct inputs {
    void *field[DATA_FIELDS];       /* where the batch's fields go, ... */
    finish_draw *draws[DATA_FIELDS]; /* ... and what was drawn for images that the device finishes */
    int64_t *batch_id;
    float *slot_weight;
    const float *loss;
    const int64_t *right, *counted; /* labels; or NULL */
} inputs;

/* E_UNSUPPORTED if the model has no loss. */
MUST_USE status inputs_bind(exec *e, size_t variant, const dataset *data, inputs *ret, error *err);
/* What a loader leaves to a device of this backend: to make numbers of bytes, and to finish images. */
void inputs_leave(const backend_ops *ops, loader_options *o);
/* ... and the device is told of it; the variants are all of the exec's. */
MUST_USE status inputs_make_there(exec *e, const loader *l, inputs *variants, size_t n, error *err);
/* For people: who does what of augmentation. */
void inputs_tell(const loader_options *o);
void inputs_write(const inputs *in, const data_batch *batch, float weight);

#endif
