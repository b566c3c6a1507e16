/*
 * The walk over a model's nodes, in order: each is evaluated at once where all it reads is known,
 * and otherwise becomes nodes of a graph. Only for the files of this room.
 *
 * A slot is what is known of a value. A scope holds the slots of one graph, subgraph or function
 * body; a subgraph sees its parent's, a function body does not.
 */
#ifndef TEQUIO_ONNX_WALK_H
#define TEQUIO_ONNX_WALK_H

#include "common/base/buf.h"
#include "graph/names.h"
#include "onnx/model.h"
#include "onnx/moves.h"
#include "onnx/order.h"
#include "onnx/request.h"

typedef enum slot_kind {
    SLOT_ABSENT,  /* an optional input that is not there */
    SLOT_HOST,    /* known */
    SLOT_WEIGHT,  /* a float initializer that nothing has read yet, or a parameter */
    SLOT_VALUE,   /* a value of the graph */
    SLOT_LIST,    /* a sequence of values */
    SLOT_UNMADE,  /* an output that its operator does not make here */
    SLOT_REFUSED, /* made by a node that cannot be carried out */
} slot_kind;

typedef struct slot {
    slot_kind kind;
    host_tensor *host;
    graph_val value; /* SLOT_VALUE; SLOT_HOST: its constant once there is one */
    int32_t weight;
    int32_t element; /* SLOT_HOST, SLOT_VALUE: ONNX's type of it; 0: see slot_element */
    const struct slot *items; /* SLOT_LIST */
    int32_t n_items;
    struct slot *moved;       /* of a running statistic that has been moved: the one it was */
} slot;

/* A weight and what became of it. */
typedef struct weight {
    const char *name;
    int32_t initializer;
    graph_val value;  /* GRAPH_NONE: not read yet */
    bool is_constant; /* of the graph, and no tensor of the flat vector */
    tensor_kind kind;
} weight;

/* What a symbol in the shapes of inputs turned out to be, and by which of them. */
typedef struct symbol {
    const char *name, *input;
    int64_t size;
} symbol;

typedef struct scope {
    const struct scope *parent;          /* of a subgraph */
    const char *prefix;                  /* of names inside: "" or "node/" */
    names index;
    slot **slots;
    size_t n, cap;
    Onnx__OperatorSetIdProto *const *opsets;
    size_t n_opsets;
    const Onnx__FunctionProto *function; /* of a function's body: and who called it */
    const Onnx__NodeProto *caller;
    const struct scope *caller_scope;
    int depth;
} scope;

typedef struct importer {
    const onnx_model *m;
    const onnx_request *request;
    arena *a;
    graph *g;              /* the first graph: everything, before rewriting */
    graph_val batch_id;    /* there */
    names initializers;    /* name -> index in the file */
    onnx_moves *moves;
    weight *weights;
    size_t n_weights, cap_weights;
    symbol *symbols;
    size_t n_symbols, cap_symbols;
    buf refusals;
    int n_refusals;
    int64_t steps;         /* nodes walked, functions inlined, iterations: bounded */
    int64_t folded;        /* elements of what was computed at once: bounded */
} importer;

void scope_init(scope *s, const scope *parent, const char *prefix);
void scope_fini(scope *s);
/* The slot of a name here or in a parent; NULL if there is none. */
slot *scope_find(const scope *s, const char *name);
/* E_DATA if the name is taken in this scope. */
MUST_USE status scope_put(importer *im, scope *s, const char *name, const slot *value, error *err);

/* Walks the nodes that `wanted` needs. */
MUST_USE status walk_nodes(importer *im, scope *s, Onnx__NodeProto *const *nodes, size_t n_nodes,
                           const char *const *wanted, size_t n_wanted, error *err);

/* Counts a node, or an iteration of a loop: E_UNSUPPORTED where there are too many. */
MUST_USE status walk_step(importer *im, error *err);

/* Notes that a node cannot be carried out. */
void walk_refuse(importer *im, const Onnx__NodeProto *n, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* A weight of its own that begins as that initializer of the main graph (weights.c). */
slot walk_weight(importer *im, const char *name, int32_t initializer);
/* Initializers of a graph or subgraph into the scope. */
MUST_USE status walk_initializers(importer *im, scope *s, const Onnx__GraphProto *g, error *err);

/* The graph's value of a slot: constants are added, weights declared. */
MUST_USE status slot_value(importer *im, slot *s, graph_val *ret, error *err);
/* The same of a weight that a BatchNormalization moves: state with this momentum. One that another
 * call of the layer has moved is the weight that it was, so that the calls share it. E_UNSUPPORTED
 * where their momentums differ. */
MUST_USE status slot_state(importer *im, slot *s, float momentum, graph_val *ret, error *err);
/* Shape and type of a slot, without making it a value. E_DATA for a sequence. */
MUST_USE status slot_describe(importer *im, const slot *s, graph_shape *ret_shape,
                              dtype *ret_dtype, error *err);
/* The file's type of a tensor's elements, which a wider one may hold here; float32 of what is no
 * tensor, whose value is refused where it is read. */
const onnx_element *slot_element(const importer *im, const slot *s);
/* What is known of a slot: its tensor, read from the file for a weight; NULL if nothing. */
MUST_USE status slot_known(importer *im, slot *s, const host_tensor **ret, error *err);

#endif
