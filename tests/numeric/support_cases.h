/*
 * One-operator graphs, for values and for gradients: a table of operators with the shapes and
 * attributes that tend to break kernels (broadcasting, batch 1, sizes that are no multiple of a
 * vector, pads on one side, dilations, groups, ceil_mode, ignored labels, ...), and how to build
 * and fill the graph of a row.
 */
#ifndef TEQUIO_TESTS_NUMERIC_SUPPORT_CASES_H
#define TEQUIO_TESTS_NUMERIC_SUPPORT_CASES_H

#include "common/base/rng.h"
#include "graph/attrs.h"
#include "graph/graph.h"

enum { CASE_IN = 10 };

typedef enum case_fill {
    FILL_NORMAL,
    FILL_POSITIVE, /* 0.5 .. 2: divisors, variances */
    FILL_OFF_ZERO, /* 0.2 .. 1.2 of either sign: no kink near */
    FILL_UNIT,     /* -0.9 .. 0.9 */
    FILL_ABOVE_1,  /* 1.1 .. 3 */
    FILL_DISTINCT, /* no two alike: no tie in a maximum */
    FILL_LABEL,    /* a class or the ignored index */
    FILL_BATCH,    /* a batch id */
    FILL_INDEX,    /* into the axes of operand 0 that are named, from either end */
    FILL_LENGTH,   /* of a sequence of operand 0 */
    FILL_WHOLE,    /* -5 .. 5 */
    FILL_COUNT,    /* 0 .. 10 */
    FILL_BIT,      /* 0 or 1 */
    FILL_STRANGE,  /* numbers among infinities and what is none */
    FILL_STEPS,    /* 1 .. as many as operand 0 has on its first axis */
} case_fill;

/* Rank GRAPH_NONE: absent. */
typedef struct case_operand {
    graph_shape shape;
    case_fill fill;
    dtype type;
    const float *constant; /* not an operand of the run but this number, known before */
} case_operand;

typedef struct op_case {
    const char *name;
    graph_op op;
    int32_t n_in;
    case_operand in[CASE_IN];
    const void *attr;
} op_case;

/* The rows of a family of ops.def, cases_<family>: families/. */
typedef struct case_table {
    const op_case *rows;
    size_t n;
} case_table;

#define OP(ID, name, fewest, most, outputs, traits, family, ...)                                   \
    extern const case_table cases_##family;
#define GRADIENT(...)
#include "graph/ops.def"

/* Row i of all tables, NULL behind the last. */
const op_case *case_at(size_t i);

/* Where the operator stands. Kernels choose other layouts and other memory there. */
typedef enum case_frame {
    FRAME_BARE, /* operands are inputs or parameters, the result is kept */
    FRAME_TEMP, /* operand 0 is a temporary that dies here: may run in place */
    FRAME_CONV, /* operand 0 comes out of a convolution, a result of rank 3 to 5 goes into one */
    FRAME_COUNT,
} case_frame;

extern const char *const case_frame_names[FRAME_COUNT];

bool case_fits(const op_case *c, case_frame frame);

/* A row of the table with an axis of an operand made 0 long, alone or with all axes of its size. */
typedef struct case_emptied {
    op_case row;
    bool is_batch; /* the first axis of operand 0, or where a recurrent operator has its batch */
    char what[96];
} case_emptied;

/* The i-th of them; false behind the last. Not all are legal, and large rows have none. */
bool case_emptied_at(const op_case *c, size_t i, case_emptied *ret);
/* Whether the operator's shape rule takes the row. */
bool case_is_legal(const op_case *c);

typedef struct case_graph {
    graph *graph;
    const graph_val *out; /* of the operator */
    graph_val last;       /* of the frame */
    graph_val loss; /* sum of `last` times fixed random factors; differentiable and f32 only */
} case_graph;

/* Whether an output has a meaning outside the backend (a pool's workspace has none, nor have the
 * batch statistics of a batch norm that makes none). */
bool case_shows(const op_case *c, int32_t output);

/* With `differentiable`, float operands that have a gradient are trainable parameters, and `loss`
 * stands; otherwise all operands are inputs, and `last` and, in the bare frame, out[] are kept. */
case_graph case_build(const op_case *c, case_frame frame, bool differentiable);

/* The elements of the input or parameter `v` of the case's graph; floats exactly. */
void case_fill_value(const op_case *c, const graph_value *v, double *ret);

/* Index i of operand 1; no two alike where the order of putting would show. */
int64_t case_index(const op_case *c, const rng *r, int64_t i);

#endif
