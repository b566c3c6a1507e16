/*
 * One-operator graphs, for values and for gradients: a table of operators with the shapes and
 * attributes that tend to break kernels (broadcasting, batch 1, sizes that are no multiple of a
 * vector, pads on one side, dilations, groups, ceil_mode, ignored labels, ...), and how to build
 * and fill the graph of a row.
 */
#ifndef TEQUIO_TESTS_NUMERIC_SUPPORT_CASES_H
#define TEQUIO_TESTS_NUMERIC_SUPPORT_CASES_H

#include "graph/attrs.h"
#include "graph/graph.h"

enum { CASE_IN = 10 };

typedef enum case_fill {
    FILL_NORMAL,
    FILL_POSITIVE, /* 0.5 .. 2: divisors, variances */
    FILL_OFF_ZERO, /* 0.2 .. 1.2 of either sign: no kink near */
    FILL_DISTINCT, /* no two alike: no tie in a maximum */
    FILL_LABEL,    /* a class or the ignored index */
    FILL_BATCH,    /* a batch id */
    FILL_INDEX,    /* into the axis of operand 0, from either end */
    FILL_WHOLE,    /* -5 .. 5 */
    FILL_BIT,      /* 0 or 1 */
} case_fill;

typedef struct case_operand {
    graph_shape shape;
    case_fill fill;
    dtype type;
} case_operand;

typedef struct op_case {
    const char *name;
    graph_op op;
    int32_t n_in;
    case_operand in[CASE_IN];
    const void *attr;
} op_case;

extern const op_case op_cases[];
extern const size_t n_op_cases;

/* Where the operator stands. Kernels choose other layouts and other memory there. */
typedef enum case_frame {
    FRAME_BARE, /* operands are inputs or parameters, the result is kept */
    FRAME_TEMP, /* operand 0 is a temporary that dies here: may run in place */
    FRAME_CONV, /* operand 0 comes out of a convolution, a rank 4 result goes into one */
    FRAME_COUNT,
} case_frame;

extern const char *const case_frame_names[FRAME_COUNT];

bool case_fits(const op_case *c, case_frame frame);

typedef struct case_graph {
    graph *graph;
    const graph_val *out; /* of the operator */
    graph_val last;       /* of the frame */
    graph_val loss;       /* sum of `last` times fixed random factors; differentiable and f32 only */
} case_graph;

/* How many of the operator's outputs have a meaning outside the backend (a pool's workspace has
 * none, nor have the batch statistics of a batch norm that makes none). */
int32_t case_n_outputs(const op_case *c);

/* With `differentiable`, float operands that have a gradient are trainable parameters, and `loss`
 * stands; otherwise all operands are inputs, and `last` and, in the bare frame, out[] are kept. */
case_graph case_build(const op_case *c, case_frame frame, bool differentiable);

/* The elements of the input or parameter `v` of the case's graph; floats exactly. */
void case_fill_value(const op_case *c, const graph_value *v, double *ret);

#endif
