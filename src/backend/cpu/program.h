/*
 * Inside of a loaded program: what every kernel family sees.
 *
 * Loading walks the nodes once, in order. A node's plan function picks its kernel body and says,
 * per input and output, in which layout the body wants or gives the bytes; the layout of a value is
 * then what its producer gives, unless it must be plain (parameters' gradients, kept values). Where
 * wish and value differ, node_finish puts a reorder through the workspace around the body. So
 * bodies never reorder, and between convolutions, where wishes agree, nothing is moved.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CPU_PROGRAM_H
#define TEQUIO_BACKEND_CPU_PROGRAM_H

#include "backend/backend.h"
#include "backend/cpu/dnnl/shim.h"
#include "backend/cpu/factor.h"
#include "graph/attrs.h"

typedef struct cpu_node cpu_node;

/* One execution: addresses in the layouts the body asked for; NULL where the node has no value. */
typedef struct cpu_call {
    const void **in; /* [graph_node_slots] */
    void **out;      /* [n_out] */
    void *scratch;   /* scratch_bytes, 64-byte aligned */
} cpu_call;

/* What a node runs: a kernel, or a body, which may fail. */
typedef void (*cpu_kernel)(const cpu_node *n, const cpu_call *c);
typedef status (*cpu_body)(const cpu_node *n, const cpu_call *c, error *err);

typedef struct cpu_edge {
    const shim_layout *want; /* what the body reads or writes; NULL: the value's own bytes */
    const shim_layout *view; /* the same bytes as the value under another shape; NULL: its own */
    shim_primitive *reorder; /* set by node_finish where value and wish differ */
    size_t offset, bytes;    /* of the reordered copy in the workspace */
} cpu_edge;

struct cpu_node {
    backend_program *program;
    const graph_node *node;
    int32_t index;
    cpu_kernel kernel;
    cpu_body body;     /* both NULL: nothing to do, no output has elements */
    const void *state; /* the body's, in the program's arena */
    error *err;        /* while it is planned */
    size_t scratch_bytes;
    bool takes_inplace; /* the body may write output 0 over the input of graph_node_inplace */
    bool fused;         /* its work is done by the node that makes its input */
    bool aliases;       /* OP_ALIAS: output 0 is input 0, byte for byte */
    cpu_edge *in, *out; /* [graph_node_slots], [n_out] */
    cpu_call call;      /* filled anew at every run */
    size_t workspace_bytes;
};

struct backend {
    int threads;
};

struct backend_program {
    const backend *backend;
    const graph *g;
    arena *arena;
    shim *shim;
    cpu_node *nodes;
    const shim_layout **layout; /* by value; NULL: not f32 or bf16, no elements, or none chosen */
    size_t *bytes;              /* by value */
    bool *must_be_plain;        /* by value */
    int32_t *n_readers;         /* by value */
    bool *does_relu;            /* by node: it does the work of the Relu behind it too */
};

/* Chooses kernel or body, layouts and scratch. E_UNSUPPORTED with the reason, in n->err, if there is no
 * kernel. */
typedef status (*cpu_plan)(cpu_node *n);

/* For plan functions: memory in the program's arena, zeroed; and the node runs that kernel with such
 * memory as its state. */
void *node_alloc(const cpu_node *n, size_t bytes);
void *node_runs(cpu_node *n, cpu_kernel kernel, size_t state_bytes);

/* Values and shapes of a node's edges */
const graph_value *node_in(const cpu_node *n, int i); /* NULL if absent */
const graph_value *node_out(const cpu_node *n, int i);
factor_form node_factor_form(const cpu_node *n, int i); /* of input i, which is there */
size_t node_element_bytes(const cpu_node *n, int i);    /* the same; as it lies in memory */
bool node_is_laid_out(const graph_value *v); /* a layout says how its elements lie */
MUST_USE status layout_plain(backend_program *p, const graph_shape *s, const shim_layout **ret,
                             error *err);
MUST_USE status layout_any(backend_program *p, const graph_shape *s, const shim_layout **ret,
                           error *err);
MUST_USE status layout_plain_of(backend_program *p, const graph_value *v, const shim_layout **ret,
                                error *err); /* of its type */

/* For element-wise bodies: all inputs listed and output 0 in one order, a blocked one if any of
 * the inputs has one, each of its own type. `zero_stays` says that f(0, 0) = 0, so padding may be
 * computed too; otherwise padded layouts are not followed. *ret_elements counts padding. */
MUST_USE status node_follow(backend_program *p, cpu_node *n, int n_in, bool zero_stays,
                            int64_t *ret_elements, error *err);

/* The first blocked layout that a reader of v has beside it, or NULL: a good choice for v. */
const shim_layout *node_wished_layout(const backend_program *p, graph_val v);

/* Whether it has an operand without elements and makes elements whose value that alone decides;
 * then cpu_plan_empty is its plan function (empty.c). */
bool node_is_empty(const cpu_node *n);
MUST_USE status cpu_plan_empty(cpu_node *n);

/* After the plan function: fixes the layouts of the outputs, places reorders and scratch. */
MUST_USE status node_finish(backend_program *p, cpu_node *n, error *err);

/* Runs a primitive whose roles were set; its scratch is c->scratch. */
MUST_USE status node_execute(shim_primitive *primitive, void *scratch, error *err);

MUST_USE status node_reorder(shim_primitive *reorder, const void *from, void *to, error *err);

/* The body of nodes that have nothing to compute: copies input 0 to output 0 unless the plan gave
 * both the same place. */
void node_copy_apart(const cpu_node *n, const cpu_call *c);

/* For OP_ADDS: puts the base, plain, into output 0, where the body adds to it. False if the node
 * has no base. */
bool node_begin_sum(const cpu_node *n, const cpu_call *c);

/* Bodies' home: backend_kernel.run */
status node_run(void *state, void *const *addresses, void *workspace, error *err);

/* The plan functions of ops.def's families. */
#define OP(ID, name, fewest, most, outputs, traits, family, ...)                                   \
    MUST_USE status cpu_plan_##family(cpu_node *n);
#include "graph/ops.def"

#endif
