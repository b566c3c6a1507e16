/*
 * The graph: a list of nodes in static single assignment, with ONNX operator semantics.
 *
 * Values and nodes are indices, never pointers. Order of creation is a topological order and the
 * order of execution. Shapes are static: a graph is built for one batch size. Whatever backward
 * needs of forward (masks, saved means) is an ordinary output, so the planner sees every byte.
 * Forward nodes are a prefix of the list; graph_backward appends the rest.
 *
 * An operator's identity is a row of ops.def; its shape rule and gradient rule live in
 * `graph_op_<name>`, a const struct (GRAPH_OP of rule.h) in the file of its family in graph/ops, with
 * the rows of its attributes, whose struct is in attrs.h.
 *
 * Ownership: everything of a graph lives in its arena and dies with it; attributes, names and
 * constants are copied in. Threads: one at a time while it grows; any number once it is built.
 */
#ifndef TEQUIO_GRAPH_GRAPH_H
#define TEQUIO_GRAPH_GRAPH_H

#include "common/base/alloc.h"
#include "common/base/dtype.h"
#include "common/base/error.h"
#include "common/parts/flat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GRAPH_NONE = -1, GRAPH_RANK = TENSOR_RANK };
enum { SHAPE_TEXT = 176 };     /* room for the text of any shape */
enum { OP_MANY = INT32_MAX };   /* most inputs of an operator that takes any number */

/* traits of an operator, in ops.def */
enum {
    OP_INPLACE = 1,    /* output 0 may take the memory of input 0 when that dies here */
    OP_BACKWARD = 2,   /* only in what graph_backward appends; has no gradient itself */
    OP_ALIAS = 4,      /* output 0 has, or may have, the bytes of input 0 under another shape */
    OP_ADDS = 8,       /* the last input, the base, may be absent; if it is there, output 0 is
                        * base + what is made, and may take the memory of a base that dies; a
                        * gradient rule sends such an output to one input and nowhere else */
    OP_TOTAL = 16,     /* finite of what is finite, and so is its derivative */
    OP_PARTIAL = 32,   /* not so, as 1/x: a program branches to stay away from there, so it
                        * must not be computed in a branch that is not taken */
    OP_SAME_BITS = 64, /* its results have the same bits on a CPU and on a GPU */
};

typedef int32_t graph_val;

typedef enum graph_op {
#define OP(ID, ...) OP_##ID,
#include "graph/ops.def"
    OP_COUNT
} graph_op;

typedef enum graph_kind {
    VAL_INPUT,      /* filled by the caller before a run */
    VAL_PARAM,      /* lies in the flat vector */
    VAL_CONST,      /* fixed bytes, `data` */
    VAL_TEMP,       /* made by node `def` */
} graph_kind;

typedef struct graph_shape {
    int32_t rank;
    int64_t dim[GRAPH_RANK];    /* one of 0: the tensor has no elements */
} graph_shape;

typedef struct graph_value {
    const char *name;           /* tensor name in files and on servers; generated for temporaries */
    graph_kind kind;
    dtype dtype;
    graph_shape shape;
    int32_t def;                /* VAL_TEMP: the node that makes it, else GRAPH_NONE */
    bool keep;                  /* read after the run: loss, logits, metrics; never reused */
    const void *data;           /* VAL_CONST */
    const tensor_decl *param;   /* VAL_PARAM; and of a temporary that stands for one (sam.h); else NULL */
    /* VAL_PARAM: */
    graph_val grad;             /* its gradient, or for TENSOR_STATE its new value times the slot's
                                 * weight; a value of its own, GRAPH_NONE before graph_backward and
                                 * for frozen ones */
} graph_value;

typedef struct graph_node {
    graph_op op;
    int32_t n_in, n_out;
    graph_val *in;              /* [graph_node_slots]; GRAPH_NONE where an input is absent */
    graph_val *out;             /* [n_out]; GRAPH_NONE where an optional output is not wanted */
    const void *attr;           /* the op's struct of attrs.h; fields have their defaults if none
                                 * was given, the rest is zero */
    const char *name;           /* "conv1", for messages and random streams; unique */
} graph_node;

/* In which type matmuls are computed (precision.h). */
typedef enum graph_precision {
    PRECISION_F32,
    PRECISION_TF32,
    PRECISION_BF16,
    PRECISION_F16,
} graph_precision;

typedef struct graph graph;

/* The gradient of a node while graph_backward forms it. */
typedef struct graph_gradient {
    graph *g;
    graph_node n;               /* a copy: adding nodes moves nodes */
    const graph_val *dy;        /* of output i, or GRAPH_NONE; at least one is there */
    const bool *wants;          /* [graph_node_slots]: of input i; at least one, floating ones only */
    graph_val *dx;              /* [graph_node_slots]: the rule sets those that are wanted */
} graph_gradient;

enum { GRAPH_BWD_READS = 14 };

typedef struct graph_op_info {
    graph_op op;
    const char *name;           /* as ONNX spells it ("Conv"); backward ops "ConvBwdData" */
    int32_t min_in, max_in, n_out;      /* max_in may be OP_MANY */
    int traits;
    size_t attr_bytes;
    const struct attr_field *fields;    /* of the attributes (schema.h); NULL: none */
    /* Shapes and types of the outputs from those of the inputs. Messages name the shapes. Called
     * once a node, by graph_add, with the graph's own copy of the attributes: fields are complete,
     * the rest it completes. An output left at rank GRAPH_NONE is not made; types are f32 unless
     * the rule says otherwise. */
    status (*infer)(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err);
    /* Appends the nodes of the gradient; an E_UNSUPPORTED says why there is none. NULL: none flows
     * through. */
    status (*grad)(const graph_gradient *d, error *err);
    /* For emit_backward (ops/emit.h): the operator whose output i is the gradient of input i, with the
     * same attributes, and what it reads, up to a 0. */
    struct {
        graph_op op;
        uint8_t reads[GRAPH_BWD_READS + 1];
    } bwd;
    /* The output that holds this run's own value of the state tensor at input i, or GRAPH_NONE.
     * NULL: the op moves no state. */
    graph_val (*state)(const graph *g, const graph_node *n, int32_t i);
    /* Multiply-adds times two. NULL: none worth counting. */
    double (*flops)(const graph *g, const graph_node *n);
} graph_op_info;

const graph_op_info *graph_op_of(graph_op op);

/* Life cycle */
MUST_USE status graph_create(graph **ret, error *err);
void graph_destroy(graph **g);

/* Building. Names are copied; a doubled name is E_CONFIG. */
MUST_USE status graph_input(graph *g, const char *name, dtype t, graph_shape shape, graph_val *ret,
                            error *err);
MUST_USE status graph_param(graph *g, const tensor_decl *decl, graph_val *ret, error *err);
MUST_USE status graph_const(graph *g, const char *name, dtype t, graph_shape shape,
                            const void *data, graph_val *ret, error *err);

/* Append a node. `name` may be NULL (made from the op), `attr` too (defaults); ret_out has n_out
 * values. An error names the node, its operator and the shapes that do not fit (E_CONFIG). */
MUST_USE status graph_add(graph *g, graph_op op, const char *name, const graph_val *in,
                          int32_t n_in, const void *attr, graph_val *ret_out, error *err);
/* The same where only output 0 is wanted. */
MUST_USE status graph_add_1(graph *g, graph_op op, const char *name, const graph_val *in,
                            int32_t n_in, const void *attr, graph_val *ret, error *err);
void graph_keep(graph *g, graph_val v);
/* Makes a parameter one that nothing moves. Before graph_backward. */
void graph_freeze(graph *g, graph_val param);
/* Puts a parameter into a group of the optimizer; keeps weight decay off it. */
void graph_keep_whole(graph *g, graph_val param); /* its optimizer needs its norm: tensor_decl's `whole` */
void graph_set_group(graph *g, graph_val param, int32_t group);
void graph_spare_decay(graph *g, graph_val param);

/* Output 0 of a node has the node's name; this gives a value another one ("logits"). */
MUST_USE status graph_rename(graph *g, graph_val v, const char *name, error *err);

/* Reading. Pointers are valid until the next node is added. */
int32_t graph_n_values(const graph *g);
int32_t graph_n_nodes(const graph *g);
int32_t graph_n_forward(const graph *g);    /* nodes in front of what graph_backward has appended */
/* The value that v is made once more of (recompute.h); its own number where it is no copy. */
graph_val graph_original(const graph *g, graph_val v);
const graph_value *graph_value_at(const graph *g, graph_val v);
const graph_node *graph_node_at(const graph *g, int32_t node);
/* Entries of a node's in[]: the most its operator takes, or n_in where that is OP_MANY. */
int32_t graph_node_slots(const graph_node *n);
/* The input whose memory output 0 may take (OP_INPLACE, OP_ADDS), or GRAPH_NONE. */
int32_t graph_node_inplace(const graph_node *n);
graph_val graph_find(const graph *g, const char *name);             /* GRAPH_NONE if absent */
arena *graph_arena(graph *g);

int64_t graph_shape_elements(const graph_shape *s);
bool graph_shape_equal(const graph_shape *a, const graph_shape *b);
/* "[8,1,28,28]" */
const char *graph_shape_text(const graph_shape *s, char *buffer, size_t bytes);

/* What the model asks for, not what kernels do: two for each multiply-add of products,
 * convolutions, recurrent layers and attention, forward and, where they are there, backward. Causal
 * attention of as many queries as keys has half of the scores, and scores that backward makes once
 * more do not count: the model FLOPs of Chowdhery and others, PaLM, 2022, appendix B, which has all
 * scores. Other nodes have none. */
double graph_flops(const graph *g);
double graph_node_flops(const graph *g, int32_t node); /* ... of one node */

/*
 * Appends backward for the scalar `loss`, seeded with the input `weight` (f32, one element: this
 * slot's examples / the step's examples), so that the sum over slots is the gradient of the mean
 * loss of the step. Every trainable parameter gets a gradient of its own (zeros when the loss does
 * not depend on it), every state tensor its batch value times `weight` (its old value when no node
 * moves it). One that c nodes move, in their order, gets a mean of their values and as momentum the
 * c-th power of its own. Of what is appended, nodes nobody reads are dropped, and outputs nobody reads are
 * GRAPH_NONE; forward nodes and values keep their indices. A gradient that cannot be formed is
 * E_UNSUPPORTED and lists every node at once; on failure the graph is as before.
 */
MUST_USE status graph_backward(graph *g, graph_val loss, graph_val weight, error *err);

/* The same by sharpness-aware minimization (sam.h): gradients are those at weights beside. */
typedef struct graph_sam {
    float rho;                  /* how far beside; above 0 */
    bool adaptive;              /* ... as a share of each weight */
} graph_sam;

MUST_USE status graph_backward_sam(graph *g, graph_val loss, graph_val weight, const graph_sam *sam, error *err);

/* The parameters in flat-vector order: live ones as their gradients become ready (index of the
 * defining node, then creation), frozen ones last. ret[graph_n_params(g)]. */
int32_t graph_n_params(const graph *g);
void graph_param_order(const graph *g, graph_val *ret);

#endif
