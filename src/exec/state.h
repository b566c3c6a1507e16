/*
 * What an exec is made of, for the files of this folder and nobody else, and the two ways to walk over a
 * variant's nodes.
 *
 * Threads: as exec.h says.
 */
#ifndef TEQUIO_EXEC_STATE_H
#define TEQUIO_EXEC_STATE_H

#include "exec/device_trace.h"
#include "exec/device_weights.h"
#include "exec/exchange.h"
#include "exec/inputs.h"
#include "exec/segments.h"
#include "exec/sums.h"
#include "exec/weights.h"

/* For a device that computes apart: its memory beyond the slabs, what of all is on the host, at the same
 * offsets, and the events its queues meet at. */
typedef struct queued {
    device_weights weights;
    device_inputs inputs;
    device_sums sums;
    exchange_buffers exchange;
    segment_clock clock;
    device_trace trace;
    void *kept, *grad;      /* the host's SLAB_IO, as far as it is kept values; its SLAB_GRAD, or none */
    void *faults;           /* [n_live_parts + 1] words of backend.h's fault(), on the host */
    bool keeps_word;        /* gradients stay on the device: the word about bad data stays until the
                             * host has seen it */
    bool *tells;            /* [n_live_parts] whether it has news for the host; else its part need not land */
    size_t *words;          /* [n_live_parts] which word is about what ran before it was ready */
    backend_event **landed; /* [n_live_parts] DOWN, in the order of a run */
    backend_event *made;    /* COMPUTE: what copies down wait for */
    backend_event *end;     /* DOWN: of a run */
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

/* hooks.c: those that are there; exec_hooks may be NULL. */
bool hooks_cancelled(const exec_hooks *hooks);
/* `grad` is the first element of a whole gradient slab; NULL if nobody makes gradients. */
MUST_USE status hooks_ready(const exec_hooks *hooks, const flat *f, int32_t part, const float *grad,
                            error *err);

/* Where the host reads a kept value of a device or writes an input. */
void *queued_host_address(const exec *e, const variant *v, graph_val id);

/* capacity.c: E_NOMEM if the device's memory that is free is less than what the variants need and others will,
 * with the batch that would fit. Before the slabs are taken. */
MUST_USE status capacity_check(const exec *e, const exec_options *o, error *err);

/* device.c */
/* For a device whose slabs stand. What was made of it until a failure queued_destroy takes too. */
MUST_USE status queued_create(exec *e, const exec_options *o, error *err);
void queued_destroy(exec *e);
/* A word for each place where parts become ready, at most one a part, about all that ran before; and one for
 * the run. */
size_t queued_n_faults(const exec *e);

/* weights_host.c: the host's calls, and exec_bind_params. */
extern const weight_store_ops weights_on_host;
void weights_bind(exec *e, const float *flat_values);

#endif
