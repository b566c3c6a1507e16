/*
 * Inside of a loaded program: what every kernel family sees.
 *
 * Loading walks the nodes once, in order. A node's plan function looks at its shapes and attributes
 * and picks a body, which only calls a launcher (kernels/) with what was decided. How the bytes of
 * a value are to be read was chosen before (load/storage.h).
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_PROGRAM_H
#define TEQUIO_BACKEND_CUDA_PROGRAM_H

#include "backend/axes_of.h"
#include "backend/backend.h"
#include "backend/cuda/device/gpu.h"
#include "backend/cuda/kernels/launch.h"
#include "graph/attrs.h"
#include "graph/index_positions.h"

typedef struct cuda_node cuda_node;
typedef struct cuda_group cuda_group;
typedef struct cuda_chain cuda_chain;

/* How the elements of a value lie in memory. */
typedef struct cuda_storage {
    dtype type;             /* the value's own; of a float32 one, that of half precision perhaps */
    bool channels_last;     /* [N,C,..] lies as [N,..,C]; otherwise row-major */
    int64_t pitch;          /* elements from one row of the last axis to the next; 0: there are none between */
} cuda_storage;

/* An operand of a body. */
typedef struct cuda_edge {
    cuda_storage seen;      /* as the body finds or leaves it */
    bool moves;             /* unlike its value: it is a copy, at this position of the scratch */
    size_t at;
} cuda_edge;

/* One execution: addresses on the device; NULL where the node has no value. */
typedef struct cuda_call {
    const void **in;        /* of what the node reads: [graph_node_slots]; of a group's last, what the group
                             * reads */
    void **out;             /* of what it writes: [n_out]; or the group */
    void *scratch;          /* scratch_bytes, aligned to 256 */
    cuda_stream stream;
    uint64_t *fault;        /* a kernel that checks sets it to the least fault_node | element */
} cuda_call;

/* What a node runs, which enqueues: a launch, or a body, which may fail. Whether a kernel was refused is
 * looked up by the caller. */
typedef void (*cuda_launch)(const cuda_node *n, const cuda_call *c);
typedef status (*cuda_body)(const cuda_node *n, const cuda_call *c, error *err);

struct cuda_node {
    backend_program *program;
    const graph_node *node; /* of a group (load/fuse.h) the one that plans for all */
    graph_val *reads, *writes;  /* GRAPH_NONE: absent */
    int32_t n_reads, n_writes;
    const cuda_chain *before, *behind;  /* of a group: what its kernel does beside; or NULL */
    cuda_launch launch;
    cuda_body body;         /* both NULL: nothing to do, no output has elements */
    const void *state;      /* the body's, in the program's arena */
    error *err;             /* while it is planned */
    size_t scratch_bytes;
    const char *by;         /* as backend.h's done_by */
    cuda_edge *in, *out;    /* [graph_node_slots], [n_out] */
    bool takes_inplace;     /* the body may write output 0 over the input of graph_node_inplace */
    uint64_t fault_node;    /* the number of the node, in the upper half */
    const char *fault_of;   /* what is checked; NULL: nothing is */
    int64_t n_faults;       /* element i must be in fault_low .. fault_high [i % n_faults] */
    int64_t fault_low[INDEX_AXES], fault_high[INDEX_AXES];
    cuda_call call;         /* filled anew at every run */
};

struct backend_program {
    backend *backend;
    const graph *g;
    arena *arena;
    cuda_node *nodes;
    const cuda_group **group;   /* by node; NULL: it runs alone */
    bool *is_fused;         /* by value: it is in no memory */
    graph_val *same_as;     /* by value: an earlier one that it equals; GRAPH_NONE */
    cuda_storage *storage;  /* by value */
    size_t *bytes;          /* by value */
    struct cuda_table *tables;
    struct lt_matmul *lt;   /* all matmuls that are cuBLASLt's */
    struct dnn_graph *dnn;  /* all graphs that are cuDNN's */
    bool only_asks;         /* cuDNN's graphs are described, to be planned together; each is refused */
};

/* Whether it runs anything. */
bool cuda_node_computes(const cuda_node *n);

/* For plan functions: memory in the program's arena, zeroed; and the node runs that launch with such
 * memory as its state. */
void *cuda_node_alloc(const cuda_node *n, size_t bytes);
void *cuda_node_runs(cuda_node *n, cuda_launch launch, size_t state_bytes);

const graph_value *cuda_in(const cuda_node *n, int i);      /* NULL if absent */
const graph_value *cuda_out(const cuda_node *n, int i);

/* How the body finds input i, and is to leave output i. */
cuda_storage cuda_in_storage(const cuda_node *n, int i);
cuda_storage cuda_out_storage(const cuda_node *n, int i);
/* Elements from the first to the last, with what lies between rows. */
int64_t cuda_span(const graph_shape *s, int64_t pitch);
/* From one row of the last axis to the next, in elements. */
int64_t cuda_in_pitch(const cuda_node *n, int i);
int64_t cuda_out_pitch(const cuda_node *n, int i);
/* Of a floating type with kernels. */
launch_type cuda_launch_type(dtype t);
/* ... of output 0 and the first three inputs of an element-wise function. */
launch_types cuda_types(const cuda_node *n);

/* An operand's axes in the order of an image of this rank that lies channels last. */
graph_shape cuda_channels_last(const graph_shape *s, int32_t rank);

/* All inputs of an operator that broadcasts them to its output 0. */
axes cuda_broadcast(const cuda_node *n);

/* For a plan function whose kernel checks the elements of input i: each must be in low .. high. */
void cuda_node_checks(cuda_node *n, int i, int64_t low, int64_t high);
/* ... each must name a position. */
void cuda_node_checks_indices(cuda_node *n, int i, const index_positions *at);

/* For plan functions that ask a library: `why` it does not compute the node, NULL if it does. */
void cuda_node_by(cuda_node *n, const char *library, const char *why);

/* For OP_ADDS and OP_INPLACE: puts the base, or the operand that is changed, into output 0 unless it
 * is there already; without a base, zeros. */
MUST_USE status cuda_begin_sum(const cuda_node *n, const cuda_call *c, error *err);

/* The mask of backend/drop.h; the batch id is the body's to set. A threshold of 0: all is kept. */
launch_dropout cuda_dropout(float ratio, uint64_t seed, uint64_t stream);

/* For plan functions: a copy on the device of what a kernel looks up, the program's. */
MUST_USE status cuda_table(backend_program *p, const void *data, size_t bytes, const void **ret,
                           error *err);
void cuda_tables_release(backend_program *p);

/* backend_fault_ops.check */
MUST_USE status program_fault(const backend_program *p, uint64_t word, error *err);

#endif
