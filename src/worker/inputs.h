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
    void *field[DATA_FIELDS];       /* where the batch's fields go */
    int64_t *batch_id;
    float *slot_weight;
    const float *loss;
    const int64_t *right, *counted; /* labels; or NULL */
} inputs;

/* E_UNSUPPORTED if the model has no loss. */
MUST_USE status inputs_bind(exec *e, size_t variant, const dataset *data, inputs *ret, error *err);
/* Fields that are bytes go to a device as they are, if the loader leaves them so. */
void inputs_as_bytes(exec *e, const loader *l);
void inputs_write(const inputs *in, const data_batch *batch, float weight);

#endif
