/*
 * One variant of an exec: a graph made ready to run. It holds the backend's program, the plan, the
 * kernel of every node, the address of every value, and at which nodes parts are needed and done.
 *
 * The order of making one: load (program, plan, kernels: sizes are known then), cut (for a device that is
 * played segments), resolve (the exec's slabs are allocated, so addresses are known), bind (parameters, any
 * number of times). On a device all addresses are the device's.
 *
 * Threads: belongs to the thread of its exec.
 */
#ifndef TEQUIO_EXEC_VARIANT_H
#define TEQUIO_EXEC_VARIANT_H

#include "backend/backend.h"
#include "exec/node_times.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "graph/recompute.h"

/* Something that happens to a part at a node. */
typedef struct part_event {
    int32_t node;
    int32_t part;
} part_event;

/* In the order of a run: by node, then by part. */
typedef struct part_events {
    part_event *items;
    size_t n;
} part_events;

/* Nodes that nothing interrupts: parts that they read are needed in front of the first, those they make are
 * ready behind the last. */
typedef struct segment {
    int32_t first, end;
    backend_segment *recorded; /* NULL: its kernels are run one by one */
    backend_segment *timed;    /* the same, each kernel between its stopwatch's start and stop; NULL: none is timed */
    backend_stopwatch *stopwatch; /* recorded around them; NULL: nobody asks */
} segment;

typedef struct variant {
    const graph *graph;
    const backend_ops *backend;
    backend *device;
    backend_program *program;
    plan *plan;
    backend_kernel *kernels; /* [n_nodes] */
    void **addresses;        /* [n_values] */
    graph_val *in_flat;      /* values whose memory is the flat vector's */
    size_t n_in_flat;
    graph_val *kept;         /* values that somebody reads behind a run, and that lie apart */
    size_t n_kept;
    void **apart;            /* [n_values] of SLAB_TEMP, by its owner (guard.h); NULL: the slab's */
    void *constants;         /* SLAB_CONST, of this variant alone */
    part_events need, ready; /* live parts no node touches are ready at node n_nodes */
    segment *segments;       /* in the order of a run */
    size_t n_segments;
    size_t workspace_bytes;  /* of the kernel that wants most */
    node_times *times;       /* of runs whose nodes are timed; NULL: there are none */
    graph *shrunk;           /* `graph`, if it was made to compute values again (footprint.h); or NULL... */
    const graph *source;     /* ...and the one it was made of, */
    size_t shrunk_from;      /* what its SLAB_TEMP takes, */
    recompute_cost again;    /* and what the other costs */
} variant;

/* `v` is zeroed. `flat` may be NULL. On failure `v` is fit for variant_unload. */
MUST_USE status variant_load(variant *v, const backend_ops *ops, backend *device, const graph *g,
                             const flat *layout, error *err);
void variant_unload(variant *v);

/* Cuts the run into segments, anew; before they are recorded. Each is a launch of its own, which takes the
 * host longer than a small kernel takes the device: so a run of n places where parts are needed or ready is
 * not cut at each, but at the first, the second, the fourth .. and likewise from the last one backwards. Then
 * the first kernels wait for few parts, the last parts for few kernels, and copies go on beside what is
 * between. `at_once`: whoever gives parts gives all of them before the first kernel, and nothing is cut where
 * they are needed. */
void variant_cut(variant *v, bool at_once);

/* Fills the addresses of everything but the parameters; slabs[SLAB_PARAM] and slabs[SLAB_CONST]
 * are not looked at. */
void variant_resolve(variant *v, void *const slabs[SLAB_COUNT]);
void variant_bind(variant *v, const float *flat_values);

/* From now on a run may time its nodes. */
MUST_USE status variant_time_nodes(variant *v, error *err);

/* Runs one node's kernel, if it has one, and times it if asked to; an error begins with the node's name. */
MUST_USE status variant_run_node(const variant *v, int32_t node, bool timed, void *workspace, error *err);

#endif
