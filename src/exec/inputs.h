/*
 * A device's inputs: those of the next run are sent while one is at work.
 *
 * Threads: the exec's.
 */
#ifndef TEQUIO_EXEC_INPUTS_H
#define TEQUIO_EXEC_INPUTS_H

#include "exec/exec.h"
#include "exec/variant.h"

/* An input that is written as bytes. */
typedef struct byte_input {
    const char *name;
    backend_bytes meaning;
} byte_input;

typedef struct device_inputs {
    void *host;             /* the host's SLAB_IO, as far as it is inputs */
    void *waiting;          /* the device's copy of that, which waits for its run */
    const variant *next;    /* whose inputs are there or on their way; NULL: nobody's */
    byte_input as_bytes[8]; /* inputs that lie in both as bytes */
    size_t n_as_bytes;
    backend_event *sent;    /* UP: `waiting` is whole */
    backend_event *taken;   /* COMPUTE: `waiting` may be written */
} device_inputs;

/* What was made until a failure inputs_destroy takes too. */
MUST_USE status inputs_create(exec *e, error *err);
void inputs_destroy(exec *e);

/* As exec.h's. */
MUST_USE status inputs_refill(exec *e, error *err);
MUST_USE status inputs_upload(exec *e, const variant *v, error *err);
/* What was uploaded, or now is, becomes the inputs of kernels from here on. */
MUST_USE status inputs_take(exec *e, const variant *v, error *err);

#endif
