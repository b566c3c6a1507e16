/*
 * A model of ONNX's operators under construction. Every value of it is known at once, in double
 * precision: each node is imported alone, so that nothing can be fused with its neighbours or
 * follow from them, and evaluated by numeric/support_reference.
 *
 * A value is known at several points: at the weights as they are, at weights a little to either
 * side along random directions, and with every node's result off by as much as a kernel may be. A
 * node is refused if between those points it has a kink, a tie or a step, or if what it gives is
 * too large, or says little about its inputs: what remains has a derivative that central
 * differences find, and rounding that stays small.
 *
 * Ownership: all of it is the sketch's. Threads: one at a time.
 */
#ifndef TEQUIO_TESTS_DIFFERENTIAL_SKETCH_H
#define TEQUIO_TESTS_DIFFERENTIAL_SKETCH_H

#include "differential/dice.h"
#include "numeric/support_reference.h"
#include "onnx/import.h"

enum { SKETCH_TERMS = 192, SKETCH_NODES = 48, SKETCH_PORTS = 10, NO_TERM = -1 };

/* How far a kernel's result may be off, relative to itself and to the root mean square of all. */
static const double KERNEL_ERROR = 1e-6;

enum point {
    POINT_HERE,
    POINT_ASIDE, /* two directions, before and behind on each */
    POINT_NOISY = POINT_ASIDE + 4,
    POINT_WORK = POINT_NOISY + 3, /* where sketch_evaluate has just been */
    POINTS,
};
enum { NOISES = POINT_WORK - POINT_NOISY };

typedef enum term_kind {
    TERM_WEIGHT,      /* a float initializer */
    TERM_FED,         /* an input of the model */
    TERM_INITIALIZER, /* a constant, so */
    TERM_CONSTANT,    /* or by an operator Constant */
    TERM_MADE,        /* by a node */
} term_kind;

typedef struct term {
    term_kind kind;
    const char *name;
    dtype type;
    graph_shape shape;
    int64_t n;
    int32_t maker;            /* TERM_MADE */
    const host_tensor *known; /* what follows from constants and shapes alone; NULL for others */
    double *x[POINTS];
    double *direction; /* of the central difference */
} term;

typedef struct sketch_node {
    Onnx__NodeProto *proto;
    int32_t n_in, n_out, in[SKETCH_PORTS], out[SKETCH_PORTS]; /* terms; NO_TERM where absent */
    /* the node alone */
    onnx_model *model;
    graph *graph;
    onnx_imported imported;
    reference *reference;
    graph_val fed[SKETCH_PORTS];
} sketch_node;

typedef struct sketch {
    arena *a;
    dice dice;
    int64_t opset;
    bool has_masks; /* minus infinity, and what stands for it, is let through */
    term terms[SKETCH_TERMS];
    int32_t n_terms;
    sketch_node nodes[SKETCH_NODES];
    int32_t n_nodes;
    sketch_node draft; /* under way */
} sketch;

sketch *sketch_create(uint64_t seed, uint64_t number);
void sketch_destroy(sketch **s);

/* --- values no node makes; `values` are copied. NO_TERM where there is no room. --- */

int32_t sketch_weight(sketch *s, const graph_shape *shape, const double *values);
int32_t sketch_fed(sketch *s, dtype t, const graph_shape *shape, const double *values);
/* By an initializer or by a Constant, as it falls. */
int32_t sketch_const(sketch *s, dtype t, const graph_shape *shape, const double *values);
int32_t sketch_const_ints(sketch *s, const int64_t *values, int64_t n); /* int64 [n] */
int32_t sketch_const_int(sketch *s, int64_t value);                     /* int64 [] */
int32_t sketch_const_float(sketch *s, double value);                    /* [] or [1] */

/* --- a node: begun, given its operands and attributes, and ended --- */

void sketch_begin(sketch *s, const char *type);
void sketch_in(sketch *s, int32_t term); /* NO_TERM: absent */
void sketch_int(sketch *s, const char *name, int64_t value);
void sketch_float(sketch *s, const char *name, double value);
void sketch_ints(sketch *s, const char *name, const int64_t *values, int64_t n);
void sketch_string(sketch *s, const char *name, const char *value);
/* False if it was refused: nothing of it is left then. ret[n_out], NO_TERM for what is not made. */
bool sketch_end(sketch *s, int32_t n_out, int32_t *ret);
/* The same with one output; NO_TERM. */
int32_t sketch_end_1(sketch *s);
/* An operator without attributes; operands up to the first NO_TERM. */
int32_t sketch_call(sketch *s, const char *type, int32_t a, int32_t b, int32_t c);

/* --- evaluating --- */

/* Values of a node at a point, from those of its inputs there. noise: 0, or which of the points
 * POINT_NOISY has the same errors. */
void sketch_evaluate(sketch *s, int32_t node, int point, int noise);

bool sketch_is_float(const sketch *s, int32_t term);
/* The element is neither minus infinity nor what stands for it. */
bool sketch_is_moderate(double x);
/* The root mean square of those that are moderate. */
double sketch_scale(const double *x, int64_t n);

/* How often nodes were refused, and why: on standard output. */
void sketch_print_refusals(void);

#endif
