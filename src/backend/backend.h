/*
 * Backends: choose once, run many.
 *
 * load() looks at a whole graph and decides layouts, fusions and algorithms; prepare() gives the
 * kernel of one node; the step loop only calls run(). Values reach a kernel as a table of addresses
 * indexed by value id, already resolved by the plan.
 *
 * Threads: a backend, its programs and its kernels belong to the thread that opened it (one lane).
 */
#ifndef TEQUIO_BACKEND_BACKEND_H
#define TEQUIO_BACKEND_BACKEND_H

#include "graph/graph.h"

typedef struct backend backend;
typedef struct backend_program backend_program;

typedef struct backend_options {
    int threads;            /* CPU: size of the OpenMP team of this lane; >= 1 */
    int device;             /* CUDA ordinal */
} backend_options;

typedef struct backend_kernel {
    /* addresses[v] is value v's memory, NULL if never materialised. No allocation. Errors do not
     * name the node: who walks the nodes does. */
    status (*run)(void *state, void *const *addresses, void *workspace, error *err);
    void *state;            /* the program's; freed with it. run == NULL: nothing to do */
    size_t workspace_bytes;
} backend_kernel;

typedef struct backend_ops {
    const char *name;                                                       /* "cpu" */
    MUST_USE status (*open)(const backend_options *options, backend **ret, error *err);
    void (*close)(backend **b);
    /* E_UNSUPPORTED lists every node without a kernel. Keeps a reference to g. */
    MUST_USE status (*load)(backend *b, const graph *g, backend_program **ret, error *err);
    void (*unload)(backend_program **p);
    /* Bytes value v takes in its chosen layout; 0: fused away, or without elements. Parameters,
     * gradients of parameters, inputs and kept values are always plain row-major. */
    size_t (*value_bytes)(const backend_program *p, graph_val v);
    bool (*can_run_inplace)(const backend_program *p, int32_t node);
    bool (*can_alias)(const backend_program *p, int32_t node);      /* OP_ALIAS nodes */
    MUST_USE status (*prepare)(backend_program *p, int32_t node, backend_kernel *ret, error *err);
    /* What the result's bits depend on: library version, instruction set, threads. */
    void (*fingerprint)(const backend *b, char *ret, size_t bytes);
} backend_ops;

extern const backend_ops backend_cpu;

#endif
