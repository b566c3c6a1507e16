/*
 * Backends: choose once, run many.
 *
 * load() looks at a whole graph and decides layouts, fusions and algorithms; prepare() gives the
 * kernel of one node; the step loop only calls run(). Values reach a kernel as a table of addresses
 * indexed by value id, already resolved by the plan.
 *
 * A backend whose kernels run apart from the caller, on a device with memory of its own, has a `queue`:
 * run() then only puts the kernel into QUEUE_COMPUTE, and addresses are the device's. Without one all
 * memory is the host's, and what run() does is done when it returns. Its other tables go with that.
 *
 * Threads: a backend, its programs and its kernels belong to the thread that opened it (one lane).
 */
#ifndef TEQUIO_BACKEND_BACKEND_H
#define TEQUIO_BACKEND_BACKEND_H

#include "graph/graph.h"
#include "graph/precision.h"

typedef struct backend backend;
typedef struct backend_program backend_program;

typedef struct backend_options {
    int threads;            /* CPU: size of the OpenMP team of this lane; >= 1 */
    int device;             /* CUDA ordinal */
    unsigned unused;        /* CUDA: bits 1 << QUEUE_.. of the queues that will be given nothing */
} backend_options;

/* What there is to compute on. */
typedef struct backend_device {
    char name[256];         /* as its maker calls it */
    char arch[32];          /* instruction set */
    size_t memory, free;    /* bytes in all, and now */
} backend_device;

typedef enum backend_space {
    SPACE_DEVICE,           /* where kernels find their operands */
    SPACE_HOST,             /* where the caller does; the device copies from and to it */
    SPACE_UNCLEARED,        /* the device's, as it is found: only where `guards` wants it */
} backend_space;

/* Work given to one queue is done in its order; two queues know of each other what `follow` says. */
typedef enum backend_queue {
    QUEUE_COMPUTE,
    QUEUE_UP,
    QUEUE_DOWN,
    QUEUE_PEER,             /* what devices give each other */
    QUEUE_COUNT
} backend_queue;

typedef struct backend_event backend_event;     /* a place in a queue */
typedef struct backend_segment backend_segment; /* kernels that were recorded */
typedef struct backend_group backend_group;     /* devices with a way between them */
typedef struct backend_stopwatch backend_stopwatch;
struct update_part;                             /* optim/update.h */
struct update_span;
struct finish_form;                             /* data/finish.h */
struct finish_draw;

/* What one member of a group sends to another, and what it gets from there; either may be nothing. */
typedef struct backend_exchange {
    int32_t with;
    const float *out;
    float *in;
    size_t n_out, n_in;
} backend_exchange;

/* Bytes [.., channels, inner] that mean numbers: those of channel c mean x * scale[c] + offset[c]. */
enum { BACKEND_CHANNELS = 4 };
typedef struct backend_bytes {
    int64_t channels, inner;
    float scale[BACKEND_CHANNELS], offset[BACKEND_CHANNELS];
} backend_bytes;

typedef struct backend_kernel {
    /* addresses[v] is value v's memory, NULL if never materialised. No allocation. Errors do not
     * name the node: who walks the nodes does. */
    status (*run)(void *state, void *const *addresses, void *workspace, error *err);
    void *state;            /* the program's; freed with it. run == NULL: nothing to do */
    size_t workspace_bytes;
} backend_kernel;

/* --- what only some backends have, a small table each --- */

/* Work that is begun, for a backend whose kernels run apart from the caller. Nothing here waits but `wait`. A
 * failure of the device may come out of any of them, of `wait` at the latest, and is E_DEVICE. */
typedef struct backend_queue_ops {
    /* For a thread that did not open the backend, before what it calls of these, of the optimizer's, of alloc
     * and of release; several threads may make such calls concurrently. */
    MUST_USE status (*enter)(const backend *b, error *err);
    MUST_USE status (*event_create)(backend *b, backend_event **ret, error *err);
    void (*event_destroy)(backend *b, backend_event **e);
    /* The event is reached when all that q was given until now is done; an older mark of it is
     * forgotten. */
    MUST_USE status (*mark)(backend *b, backend_queue q, backend_event *e, error *err);
    /* What q is given from now on begins once e is reached. */
    MUST_USE status (*follow)(backend *b, backend_queue q, const backend_event *e, error *err);
    MUST_USE status (*reached)(backend *b, const backend_event *e, bool *ret, error *err);
    MUST_USE status (*wait)(backend *b, const backend_event *e, error *err);    /* sleeps */
    /* Between any two of the two spaces, or from another device of the same backend; host memory is to
     * be of SPACE_HOST or pinned. */
    MUST_USE status (*copy)(backend *b, backend_queue q, void *to, const void *from, size_t bytes,
                            error *err);
    /* dst[n] = what n bytes mean, by COMPUTE: a product and a sum, rounded each. All on the device,
     * and aligned to 16. */
    MUST_USE status (*expand)(backend *b, float *dst, const uint8_t *from, size_t n,
                              const backend_bytes *meaning, error *err);
    /* Whether images are to be finished there: else the host does it. */
    bool (*finishes)(void);
    /* dst: n images as data/finish.h makes them of `from`, by COMPUTE, bit for bit. All on the device but the form. */
    MUST_USE status (*finish)(backend *b, void *dst, const void *from, const struct finish_form *form,
                              const struct finish_draw *draws, int64_t n, error *err);
    /* Lets the device copy from and to memory that is not of SPACE_HOST, without a detour. */
    MUST_USE status (*pin)(backend *b, void *p, size_t bytes, error *err);
    void (*unpin)(backend *b, void *p);
} backend_queue_ops;

/* Bad data that kernels meet. One that cannot work with an element, an index out of range, goes on with others
 * and leaves a word about it: of the first such node, the first such element. */
typedef struct backend_fault_ops {
    MUST_USE status (*clear)(backend *b, error *err);                           /* by COMPUTE */
    const uint64_t *(*word)(const backend *b);                                  /* on the device */
    /* Of a word that was copied to the host: E_DATA names node and element; OK if there is none. */
    MUST_USE status (*check)(const backend_program *p, uint64_t word, error *err);
} backend_fault_ops;

/* Kernels that run between begin and end are not done but recorded, with their addresses; play
 * then puts all of them into COMPUTE at once, any number of times. Each has run before, to its
 * end: what it does the first time only cannot be recorded. */
typedef struct backend_recorder_ops {
    bool (*is_wanted)(const backend *b);
    MUST_USE status (*begin)(backend *b, error *err);
    MUST_USE status (*end)(backend *b, backend_segment **ret, error *err);
    MUST_USE status (*play)(backend *b, backend_segment *s, error *err);
    void (*destroy)(backend *b, backend_segment **s);
} backend_recorder_ops;

/* The time between two moments of COMPUTE, by the device's clock; start and stop may be recorded among
 * kernels. Read once what COMPUTE had up to the stop is done: the last time both were passed. */
typedef struct backend_stopwatch_ops {
    MUST_USE status (*create)(backend *b, backend_stopwatch **ret, error *err);
    void (*destroy)(backend *b, backend_stopwatch **w);
    MUST_USE status (*start)(backend *b, backend_stopwatch *w, error *err);
    MUST_USE status (*stop)(backend *b, backend_stopwatch *w, error *err);
    MUST_USE status (*read)(const backend_stopwatch *w, double *ret_ms, error *err);
    /* When w was started, and when it was stopped: milliseconds since `since` was started. As `read`, of both. */
    MUST_USE status (*read_since)(const backend_stopwatch *w, const backend_stopwatch *since, double *ret_start_ms,
                                  double *ret_stop_ms, error *err);
    /* Returns as soon as the device has passed a stop that was not recorded, without sleeping: for one that has
     * nothing else to do. */
    MUST_USE status (*await)(backend *b, const backend_stopwatch *w, error *err);
} backend_stopwatch_ops;

/* What is made of gradients. All on the device but spans and the list of states. */
typedef struct backend_optimizer_ops {
    /* dst[n] = left[n] + right[n]: tree_sum of common/parts/tree.h, bit for bit. */
    MUST_USE status (*sum)(backend *b, backend_queue q, float *dst, const float *left,
                           const float *right, size_t n, error *err);
    /* An optimizer's step of a part, in place, with optim's bits. */
    MUST_USE status (*update)(backend *b, backend_queue q, const struct update_part *u,
                              const float *grad, float *weight, float *const *state, error *err);
    /* optim_square_sum of what each span has in each block of 4096 of the part's elements that it touches,
     * in their order, bit for bit. */
    MUST_USE status (*square_sums)(backend *b, backend_queue q, double *sums, const float *x,
                                   const struct update_span *spans, size_t n_spans, error *err);
} backend_optimizer_ops;

/* Several devices of one process. */
typedef struct backend_group_ops {
    /* From now on copies from the memory of `other` take the shortest way there is. The caller's is
     * any thread, in whose hands both are. */
    void (*approach)(backend *b, const backend *other);
    /* Another way between devices. E_UNSUPPORTED says why there is none: then copies are the one. All
     * members belong to the caller, until it gives them back to their threads. */
    MUST_USE status (*create)(backend *const *members, int32_t n, backend_group **ret, error *err);
    void (*destroy)(backend_group **g);
    /* On the thread of `member`, by its queue PEER; may wait on the host until those it exchanges with have
     * called too. Each calls for the same exchanges in the same order. E_DEVICE also once the group was
     * aborted, which ends all waiting; any thread may do that. */
    MUST_USE status (*exchange)(backend_group *g, int32_t member, const backend_exchange *exchanges,
                                int32_t n, error *err);
    void (*abort)(backend_group *g);
} backend_group_ops;

/* Nodes that one kernel does together. */
typedef struct backend_fusion_ops {
    /* The node at whose turn this one's work is done: itself, or a later one whose kernel does it too. */
    int32_t (*runs_at)(const backend_program *p, int32_t node);
    /* An earlier value that this one equals, as the plan's same_as; or GRAPH_NONE. */
    graph_val (*same_as)(const backend_program *p, graph_val v);
    /* Whether the bits of what it makes, or of what others make of that, depend on nodes that its kernel does too:
     * a copy of it alone would have others. */
    bool (*is_bound)(const backend_program *p, int32_t node);
} backend_fusion_ops;

/* For people. Any of them may be NULL: nothing is to be told. */
typedef struct backend_note_ops {
    /* Of a node that may be a library's: which one computes it, or why none does; NULL for other nodes. Lives
     * as long as the program. */
    const char *(*done_by)(const backend_program *p, int32_t node);
    /* How products of this precision are computed here where its name does not say it; NULL: as it says. A
     * constant. */
    const char *(*products)(graph_precision precision);
    /* The bytes of what the kernel at this node's turn reads and writes, each value once, and which operator
     * it is around, OP_COUNT if none; 0 bytes: there is no kernel. */
    size_t (*operand_bytes)(const backend_program *p, int32_t node, graph_op *ret_around);
} backend_note_ops;

/* --- what every backend has --- */

typedef struct backend_ops {
    const char *name;                                                       /* "cpu" */

    /* The device. */
    /* E_DEVICE if there is no such device. Opens nothing. */
    MUST_USE status (*describe)(int device, backend_device *ret, error *err);
    MUST_USE status (*open)(const backend_options *options, backend **ret, error *err);
    void (*close)(backend **b);
    /* What the result's bits depend on: library version, instruction set, threads. */
    void (*fingerprint)(const backend *b, char *ret, size_t bytes);
    /* Zeroed but for SPACE_UNCLEARED, aligned for any kernel. E_NOMEM names `what`. 0 bytes give a pointer to
     * release too. */
    MUST_USE status (*alloc)(backend *b, backend_space space, size_t bytes, const char *what,
                             void **ret, error *err);
    void (*release)(backend *b, backend_space space, void *p);              /* NULL is fine */
    /* Whether values between nodes are to lie apart, for a checker of memory (exec/guard.h). NULL: never. */
    bool (*guards)(const backend *b);

    /* Graphs. */
    /* E_UNSUPPORTED lists every node without a kernel. Keeps a reference to g. */
    MUST_USE status (*load)(backend *b, const graph *g, backend_program **ret, error *err);
    void (*unload)(backend_program **p);
    /* Bytes value v takes in its chosen layout; 0: fused away, or without elements. Parameters,
     * gradients of parameters, inputs and kept values are always plain row-major. */
    size_t (*value_bytes)(const backend_program *p, graph_val v);
    bool (*can_run_inplace)(const backend_program *p, int32_t node);
    bool (*can_alias)(const backend_program *p, int32_t node);      /* OP_ALIAS nodes */
    MUST_USE status (*prepare)(backend_program *p, int32_t node, backend_kernel *ret, error *err);

    /* NULL: it has none. One that has a queue has faults, a recorder, stopwatches and an optimizer too. */
    const backend_queue_ops *queue;
    const backend_fault_ops *fault;
    const backend_recorder_ops *recorder;
    const backend_stopwatch_ops *stopwatch;
    const backend_optimizer_ops *optimizer;
    const backend_group_ops *group;
    const backend_fusion_ops *fusion;
    const backend_note_ops *note;
} backend_ops;

extern const backend_ops backend_cpu;

#endif
