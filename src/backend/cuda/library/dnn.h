/*
 * Graphs of operations for cuDNN, by its backend API: a graph is described, planned once, and run
 * many times. Of the engines that the library's heuristics name for the graph, first those of mode
 * A, then the fallbacks, the first one is taken that gives the same bits every time, takes no more
 * than a fixed workspace, and does not refuse. So the bits depend on the graph, the library's
 * version and the model of chip, never on measured time or free memory.
 *
 * While a graph is described nothing has to be looked at: what the library refuses is kept, with
 * what was described and the library's words, and dnn_plan() tells. A graph and all that was made
 * for it are the program's.
 *
 * An engine that makes its code itself takes seconds. So a program first asks for all of them
 * (`only_asks`), and they are planned in several threads (dnn_plan_asked).
 *
 * Threads: as backend.h says; a backend has a handle of its own.
 * Source: docs.nvidia.com/deeplearning/cudnn, "Graph API" and "Backend API".
 */
#ifndef TEQUIO_BACKEND_CUDA_LIBRARY_DNN_H
#define TEQUIO_BACKEND_CUDA_LIBRARY_DNN_H

#include "backend/cuda/library/abi.h"
#include "backend/cuda/program.h"

typedef struct dnn_graph dnn_graph;

/* What is set of a descriptor: a name and a type of api.def (DNN_CONV_STRIDES, DNN_IS_INT64), and n
 * values of that type. */
typedef struct dnn_attribute {
    unsigned name, type;
    int64_t n;
    const void *value;
} dnn_attribute;

/* Versions: the first that describes a device apart from its handle, and the first whose attention
 * needs no mask where a length is no multiple of 128. */
enum { DNN_FROM = 90800, DNN_ATTENTION_FROM = 91600 };

/* OK if the library is there, has that version at least, and NVRTC to compile its engines; else E_UNSUPPORTED
 * and why, with the words of dnn_limits. */
MUST_USE status dnn_find(size_t from, error *err);
/* What a library that is there is too old for, or lacks NVRTC for, and what is done instead; "" if nothing. */
const char *dnn_limits(void);

/* A list of them for dnn_make and dnn_operation: DNN_ATTRIBUTES({..}, {..}). */
#define DNN_ATTRIBUTES(...) ((const dnn_attribute[]){__VA_ARGS__, {.value = NULL}})

enum { DNN_RANK = 5, DNN_OPERANDS = 16, DNN_NUMBERS = 8 };
enum { DNN_ALIGN = 16 }; /* bytes, of operands */

typedef struct dnn_form {
    unsigned type; /* DNN_F32 .. */
    int rank;
    int64_t size[DNN_RANK], stride[DNN_RANK]; /* strides in elements */
} dnn_form;

/* Where the library is not there, dnn_plan will say so. */
dnn_graph *dnn_begin(backend_program *p);

/* A tensor in memory. At a run it begins at operands[number], a multiple of 16 bytes. Several may
 * have one number: the same memory in other forms. */
dnn_desc dnn_operand(dnn_graph *g, int number, const dnn_form *form);
/* A tensor between two operations, of which there is no memory. */
dnn_desc dnn_between(dnn_graph *g, const dnn_form *form);
/* A float32 that is the same at every run, as a tensor of `rank` axes of 1. */
dnn_desc dnn_number(dnn_graph *g, int rank, float x);
/* What an operation refers to: DNN_CONV, DNN_POINTWISE .. */
dnn_desc dnn_make(dnn_graph *g, unsigned kind, const dnn_attribute *attributes);
/* DNN_OP_CONV, DNN_OP_MATMUL .., behind those that were added before. */
void dnn_operation(dnn_graph *g, unsigned kind, const dnn_attribute *attributes);

/* What an engine's workspace may take instead of 256 MB. */
void dnn_allow(dnn_graph *g, int64_t scratch_bytes);

/* `exact`: products of float32 are float32's, and not TF32's. E_UNSUPPORTED with the reason if the
 * library is not there or no engine does; then the graph is of no more use. What a program has
 * planned already under the same description is not planned again. */
MUST_USE status dnn_plan(dnn_graph *g, bool exact, error *err);

/* Plans what was asked for while the program's `only_asks` was set, in at most so many threads: the caller's
 * and others, which `enter` first. Then dnn_plan of the same has its plan, or the reason why there is none. */
void dnn_plan_asked(backend_program *p, size_t threads, status (*enter)(const backend *b, error *err));

/* Of a planned graph. */
size_t dnn_scratch_bytes(const dnn_graph *g);
/* Behind what QUEUE_COMPUTE has to do. operands: by number, NULL where there is none. `scratch` has
 * dnn_scratch_bytes, aligned to 256. Allocates only when addresses are other ones than at the last run. */
MUST_USE status dnn_run(dnn_graph *g, void *const operands[], void *scratch, error *err);

/* At the end of a program, and of a backend. */
void dnn_graphs_destroy(backend_program *p);
void dnn_close(backend *b);

#endif
