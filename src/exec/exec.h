/*
 * One lane's engine: runs plans on a backend and says when parts are ready.
 *
 * An exec holds one or more variants of the same model (the full batch, the epoch's smaller last
 * batch), prepared before step 0. They share the slabs: grad, io, temp and workspace are the
 * largest any variant needs. Parameters lie in memory the caller binds (shared by the lanes of a
 * worker), or where they live on the device (weights.h). After exec_create and exec_input_unfinished nothing is
 * allocated.
 *
 * Threads: an exec belongs to one thread, the one that created it. Hooks run on that thread.
 */
#ifndef TEQUIO_EXEC_EXEC_H
#define TEQUIO_EXEC_EXEC_H

#include "backend/backend.h"
#include "common/parts/tree.h"
#include "data/finish.h"
#include "exec/peers.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "graph/recompute.h"

#include <stdatomic.h>

typedef struct exec exec;
typedef struct weight_store weight_store;

typedef struct exec_options {
    const backend_ops *backend;
    backend_options device;
    const flat *flat;           /* kept until exec_destroy; NULL for graphs without parameters */
    const graph *const *graphs; /* the variants; kept until exec_destroy */
    size_t n_graphs;            /* at least 1 */
    int64_t examples;           /* of the largest batch, for what is told of one that does not fit in
                                 * a device's memory; 0: not known */
    bool timed;                 /* for exec_busy_ms */
    bool times_nodes;           /* for node_times_ms, of what exec_variant gives; kernels are run one by one */
    bool traces;                /* runs may have an exec_trace: a device is then prepared for timing their nodes; not
                                 * with times_nodes */
    uint8_t sum_level;          /* that exec_keep_sums will be asked for: its room counts as needed, but
                                 * a device that has less gets along with that */
    const peers *peers;         /* that exec_join will be told of, likewise; or NULL */
    weight_store *weights;      /* where these live (weights.h), kept; NULL: bound. One on devices only for an
                                 * exec that computes apart; one that keeps gradients there for one without
                                 * peers, and then room for sums is taken at once */
    size_t beside;              /* bytes of a device that others will take */
    size_t budget;              /* exec_memory_total at most: more is computed again instead (footprint.h), and
                                 * E_NOMEM if that does not do; 0: as much as it takes */
} exec_options;

/* Bytes by slab, for --dry-run; on a device sums of gradients, and what peers send of theirs. */
typedef struct exec_memory {
    size_t param, grad, io, temp, constant, workspace, sums, received;
    size_t saved;               /* bytes by which temp is less, since values are computed again... */
    recompute_cost again;       /* ...in the variant that takes most */
} exec_memory;

size_t exec_memory_total(const exec_memory *m);

/* A device can keep gradients and add them up, so that only whole nodes of the tree of slots come
 * down. The runs for one node follow each other, its slots ascending, none missing, none failing. */
typedef struct exec_slot {
    uint32_t slot, n_slots; /* of a step */
    tree_node sum;          /* a top that covers the slot: its own, or not above exec_keep_sums */
    reduce_group *with;     /* of the last slot of `sum`: what that is added to; NULL: nothing */
} exec_slot;

/* Who hears when the nodes of a run were computed, by clock_ns: begin is at most end, and none begins before the one
 * before it has ended. Nodes without a kernel are not heard of; those that one kernel does together are at the node at
 * whose turn it runs. */
typedef struct exec_trace {
    /* In the order of the run, as soon as the node is done... */
    void (*node)(void *user, int32_t node, int64_t begin_ns, int64_t end_ns);
    /* ...or, where a device computes apart, behind the run, by the device's clock; then from the first one's begin to
     * the last one's end, and by how much these moments may all be off, together, at most. What the two clocks part
     * in a run comes on top. */
    void (*device_node)(void *user, int32_t node, int64_t begin_ns, int64_t end_ns);
    void (*device)(void *user, int64_t begin_ns, int64_t end_ns, int64_t error_ns);
    void *user;
} exec_trace;

/* Parts that fall on the same node come in ascending order. What a hook fails with, exec_run
 * returns as it is. */
typedef struct exec_hooks {
    /* Before the first node that reads a weight of `part`: returns when it may be read. *ret_edition
     * is another number whenever its weights may be others: a device keeps its copy of a part as long
     * as the number stays. Where weights live on the device they are there by then, or on their way; there
     * they stay until the part is `ready`. NULL: every part may be read at once, and is new at every run. */
    status (*need)(void *user, int32_t part, int64_t *ret_edition, error *err);
    /* After the last node that makes a gradient or reads a weight of the live part; at the end for a live
     * part no node touches. Once per part and run. `grad` is the part's first element, NULL if no variant
     * makes gradients, while the device keeps them, or if they go into a group. Where gradients stay on
     * the device it is handed over before it is made, and the next holder follows on the device; but once
     * what was kept before the first part is on the host, and the data are found sound. NULL: nobody
     * asks. */
    status (*ready)(void *user, int32_t part, const float *grad, error *err);
    /* Of a group: the gradients of a part, whole over `node`; after `ready` of it. Either the first
     * member hands over what all have added up, or every member its own. */
    status (*sum)(void *user, int32_t part, tree_node node, const float *grad, error *err);
    /* Once a run, when a device has been given all of it and is at work: the next run's inputs may
     * be made now (exec_refill). Not where kernels work in the caller's memory. NULL: nobody would. */
    status (*ahead)(void *user, error *err);
    const exec_trace *trace;   /* of an exec that traces; its run on a device ends when that has ended. NULL: of none */
    const exec_slot *slot;     /* NULL: each run's gradients are given as they are */
    void *user;
    const atomic_bool *cancel; /* looked at between nodes, or segments of them; NULL: never */
} exec_hooks;

/* What exec_create would take for these, without taking it: constants alone are allocated, and let
 * go. Fails as exec_create does before it allocates. */
MUST_USE status exec_measure(const exec_options *options, exec_memory *ret, error *err);

/* E_CONFIG if a graph's parameters are not those of the flat vector, or if it has gradients but not
 * one for every live tensor. Messages name the variant and the tensor or node. */
MUST_USE status exec_create(const exec_options *options, exec **ret, error *err);
void exec_destroy(exec **e);

/* The flat vector to read weights from; must stay valid until another is bound, or exec_destroy.
 * Cheap if it is the same: may be called before every run. Not where weights live on devices. */
void exec_bind_params(exec *e, const float *flat_values);

/* Where they live. */
weight_store *exec_weights(const exec *e);

/* The flat vector, wherever it lies, to the caller's memory; between runs, or in a hook. */
MUST_USE status exec_read_params(exec *e, float *ret, error *err);

/* Where to put an input before a run, and where to read a kept value after it, or in `ready` once
 * its node has run: plain row-major. NULL if the variant's graph has no such value. The address is
 * valid until exec_destroy; what is there, until the next run of any variant. */
void *exec_input(exec *e, size_t variant, const char *name, const graph_value **ret_value);
const void *exec_value(exec *e, size_t variant, const char *name, const graph_value **ret_value);

/* From now on input `name` of every variant, float32, is written as bytes, and a device makes the
 * numbers that they mean. `name` is kept. Not where kernels work in the caller's memory. At most 8 names,
 * with those of exec_input_unfinished. */
void exec_input_as_bytes(exec *e, const char *name, const backend_bytes *meaning);
/* Likewise images of float32 or bytes [n, ...] that a device finishes (data/finish.h) from what is written as the form
 * says, and from the draws of each in *ret: written with it, and valid as long. That is memory of the device too, 64
 * bytes an example. *ret is NULL if no variant has such an input. */
MUST_USE status exec_input_unfinished(exec *e, const char *name, const finish_form *form, finish_draw **ret,
                                      error *err);

/* Asks for room to keep sums of nodes up to `level`; the level that sums may have. Room once given
 * stays, and what was refused once is not tried again. 0 where kernels work in the caller's memory. */
uint8_t exec_keep_sums(exec *e, uint8_t level);

/* Makes it number `member` of these, if any. Without effect where kernels work in the caller's memory,
 * or where there is no memory for it. */
void exec_join(exec *e, peers *p, int32_t member);

/* Around writing inputs where a device is to have them early: refill returns when what was written
 * before is on the device or will not be used, upload begins to send what is written for `variant`,
 * and between it and the next refill or run nothing may be written. A run does it for a caller that does not,
 * and needs it anew after one that failed. Nothing where kernels work in the caller's memory. */
MUST_USE status exec_refill(exec *e, error *err);
MUST_USE status exec_upload_inputs(exec *e, size_t variant, error *err);

/* The gradient slab: the live range of the flat vector, the gaps between tensors zero. It and what
 * `ready` is given are the device's memory where gradients stay there. */
float *exec_grad(exec *e);

/* Parameters must be bound. E_LOST with the text "cancelled" when *cancel became true; a kernel's
 * error begins with its node's name. After a failure the exec may run again. Where gradients stay on
 * the device it may be at work still when it returns, and the next run goes behind. */
MUST_USE status exec_run(exec *e, size_t variant, const exec_hooks *hooks, error *err);

exec_memory exec_memory_use(const exec *e);
/* For people: what is computed (variant.h), and how long it takes (node_times.h). */
const struct variant *exec_variant(const exec *e, size_t variant);

/* Of an exec that is timed: for how many milliseconds of its runs so far the device was at segments of
 * nodes, each from the beginning of its first kernel to the end of its last, by the device's clock. The
 * rest of the time it was idle, or made inputs and sums over slots. Below 0 where that cannot be told:
 * nodes run one by one, or in the caller's memory. */
double exec_busy_ms(const exec *e);
void exec_fingerprint(const exec *e, char *ret, size_t bytes);

#endif
