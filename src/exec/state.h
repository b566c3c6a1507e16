/*
 * Inside of an exec, and the two ways to walk over a variant's nodes.
 * Threads: as exec.h says.
 */
#ifndef TEQUIO_EXEC_STATE_H
#define TEQUIO_EXEC_STATE_H

#include "exec/exec.h"
#include "exec/variant.h"
#include "exec/weights.h"

/* An input that is written as bytes. */
typedef struct byte_input {
    const char *name;
    backend_bytes meaning;
} byte_input;

/* A device's memory beyond the slabs, what of all is on the host, at the same offsets, and how far
 * they agree. */
typedef struct queued {
    void *params;           /* the device's flat vector */
    void *pinned;           /* the caller's, as long as it is */
    int64_t *editions;      /* [n_parts] of what kernels find there; -1: nothing yet */
    backend_event **arrivals; /* [n_parts] UP: what came last is there; NULL: weights do not come so */
    void *inputs;           /* the host's SLAB_IO, as far as it is inputs */
    void *next_inputs;      /* the device's copy of that, which waits for its run */
    const variant *next;    /* whose inputs are there or on their way; NULL: nobody's */
    byte_input as_bytes[8]; /* inputs that lie in both as bytes */
    size_t n_as_bytes;
    void *kept, *grad;      /* the host's SLAB_IO, as far as it is kept values; its SLAB_GRAD, or none */
    void *sums[32];         /* the device's: a SLAB_GRAD each, of a node of that level that waits */
    uint8_t n_sums;
    bool no_more_sums;      /* there was no memory */
    void *faults;           /* [n_live_parts + 1] words of backend.h's fault(), on the host */
    backend_event *arrived; /* UP: weights that kernels wait for */
    backend_event *sent;    /* UP: next_inputs are whole */
    backend_event *taken;   /* COMPUTE: next_inputs may be written */
    backend_event *made;    /* COMPUTE: what copies down wait for */
    backend_event **landed; /* [n_live_parts] DOWN, in the order of a run */
    bool *tells;            /* [n_live_parts] whether it has news for the host; else its part need not land */
    bool keeps_word;        /* gradients stay on the device: the word about bad data stays until the
                             * host has seen it */
    backend_event *end;     /* DOWN: of a run */
    bool timed;             /* segments are... */
    double busy_ms;         /* ...for so long so far */
    int32_t member;         /* of its peers: if it has joined some, as the rest */
    void *received;         /* on the device: others' pieces of a part */
    float **addends;        /* [its peers] where the pieces of a sum are */
    backend_exchange *exchanges; /* [its peers] */
    backend_event **pieces; /* [n_live_parts] PEER, in the order of a group's log */
} queued;

struct exec {
    const backend_ops *ops;
    backend *device;
    const flat *flat;
    weight_store *weights;   /* where they live: the caller's, or... */
    weight_store bound;      /* ...the host, with what is bound */
    variant *variants;
    size_t n_variants;
    void *slabs[SLAB_COUNT]; /* GRAD, IO and TEMP; the largest any variant needs */
    void *workspace;
    const float *params; /* the caller's; NULL: none are bound */
    queued *queued;      /* NULL: kernels work in the caller's memory, and are done when they return */
    exec_memory memory;
};

/* `hooks` may be NULL, as in exec_run. */
MUST_USE status exec_run_direct(const exec *e, const variant *v, const exec_hooks *hooks, error *err);
MUST_USE status exec_run_queued(exec *e, const variant *v, const exec_hooks *hooks, error *err);

/* Those that are there: exec_hooks may be NULL. */
bool hooks_cancelled(const exec_hooks *hooks);
/* `grad` is the first element of a whole gradient slab; NULL if nobody makes gradients. */
MUST_USE status hooks_ready(const exec_hooks *hooks, const flat *f, int32_t part, const float *grad,
                            error *err);

/* E_NOMEM if the device's memory that is free is less than what the variants need and others will, with
 * the batch that would fit. Before the slabs are taken. */
MUST_USE status capacity_check(const exec *e, const exec_options *o, error *err);

/* For a device whose slabs stand. What was made of it until a failure queued_destroy takes too. */
MUST_USE status queued_create(exec *e, const exec_options *o, error *err);
void queued_destroy(exec *e);
/* The device's flat vector to the host; returns when it is there. */
MUST_USE status queued_read_params(const exec *e, float *ret, error *err);
/* Where the host reads a kept value or writes an input. */
void *queued_host_address(const exec *e, const variant *v, graph_val id);
/* A word for each part, about all that ran before it was ready, and one for the run. */
size_t queued_n_faults(const exec *e);
/* No part counts as being on the device. */
void queued_forget(exec *e);
/* Whether the device has this edition of a part. If not, it has none, until `editions` says so. */
bool queued_has(exec *e, int32_t part, int64_t edition);

/* weights_host.c: the host's calls, and exec_bind_params. */
extern const weight_store_ops weights_on_host;
void weights_bind(exec *e, const float *flat_values);

/* As exec.h's. */
MUST_USE status inputs_refill(exec *e, error *err);
MUST_USE status inputs_upload(exec *e, const variant *v, error *err);
/* What was uploaded, or now is, becomes the inputs of kernels from here on. */
MUST_USE status inputs_take(exec *e, const variant *v, error *err);

uint8_t sums_reserve(exec *e, uint8_t level);
void sums_destroy(exec *e);
bool sums_complete(const exec_slot *s);
/* Adds what is kept for a part to its gradient, and keeps the result if the sum is not complete. */
MUST_USE status sums_add(const exec *e, const exec_slot *s, int32_t part, error *err);

/* Records the segments of all variants, if the device can. */
MUST_USE status segments_record(exec *e, error *err);
MUST_USE status segments_play(const exec *e, const variant *v, const segment *s, error *err);
/* Behind a run that has ended: what its segments took, if they are timed. */
MUST_USE status segments_time(exec *e, const variant *v, error *err);

#endif
