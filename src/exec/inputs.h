/*
 * A device's inputs: those of the next run are sent while one is at work.
 *
 * Threads: the exec's.
 */
#ifndef TEQUIO_EXEC_INPUTS_H
#define TEQUIO_EXEC_INPUTS_H

#include "data/finish.h"
#include "exec/exec.h"
#include "exec/variant.h"

/* An input that is written in another form than the graph reads, and made there. */
typedef struct made_input {
    const char *name;
    backend_bytes meaning;  /* of bytes, where draws are none */
    finish_form form;       /* of images to be finished, with ... */
    finish_draw *drawn, *draws; /* ... the host's draws, and the device's copy; NULL: it is bytes */
} made_input;

enum { MADE_INPUTS = 8 };

typedef struct device_inputs {
    void *host;             /* the host's SLAB_IO, as far as it is inputs */
    void *waiting;          /* the device's copy of that, which waits for its run */
    const variant *next;    /* whose inputs are there or on their way; NULL: nobody's */
    made_input made[MADE_INPUTS]; /* inputs that lie in both otherwise */
    size_t n_made;
    backend_event *sent;    /* UP: `waiting` is whole */
    backend_event *taken;   /* COMPUTE: `waiting` may be written */
} device_inputs;

/* What was made until a failure inputs_destroy takes too. */
MUST_USE status inputs_create(exec *e, error *err);
void inputs_destroy(exec *e);

/* As exec.h's. */
void inputs_as_bytes_of(exec *e, const char *name, const backend_bytes *meaning);
MUST_USE status inputs_unfinished(exec *e, const char *name, const finish_form *form, finish_draw **ret, error *err);
MUST_USE status inputs_refill(exec *e, error *err);
MUST_USE status inputs_upload(exec *e, const variant *v, error *err);
/* What was uploaded, or now is, becomes the inputs of kernels from here on. */
MUST_USE status inputs_take(exec *e, const variant *v, error *err);

#endif
