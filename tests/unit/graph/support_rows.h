/*
 * Shape rules as rows of a table: an operator, its inputs (called in0, in1, ...) and attributes,
 * and either the shapes it makes or the words of its refusal. The node is called n.
 */
#ifndef TEQUIO_TESTS_UNIT_GRAPH_SUPPORT_ROWS_H
#define TEQUIO_TESTS_UNIT_GRAPH_SUPPORT_ROWS_H

#include "unit/graph/support_graph.h"

typedef struct input {
    enum { END, ABSENT, THERE } presence;
    dtype t;
    graph_shape shape;
} input;

#define F(...)                                                                                     \
    {                                                                                              \
        .presence = THERE, .t = DT_F32, .shape = DIMS(__VA_ARGS__)                                 \
    }
#define F0                                                                                         \
    {                                                                                              \
        .presence = THERE, .t = DT_F32, .shape = {.rank = 0 }                                      \
    }
#define L(...)                                                                                     \
    {                                                                                              \
        .presence = THERE, .t = DT_I64, .shape = DIMS(__VA_ARGS__)                                 \
    }
#define U8(...)                                                                                    \
    {                                                                                              \
        .presence = THERE, .t = DT_U8, .shape = DIMS(__VA_ARGS__)                                  \
    }
#define B(...)                                                                                     \
    {                                                                                              \
        .presence = THERE, .t = DT_BOOL, .shape = DIMS(__VA_ARGS__)                                \
    }
#define NIL                                                                                        \
    {                                                                                              \
        .presence = ABSENT                                                                         \
    }

enum { ROW_IN = 8, ROW_OUT = 5 }; /* as many as a row here needs */

typedef struct row {
    graph_op op;
    input in[ROW_IN];
    const void *attr;
    const char *out[ROW_OUT]; /* shapes; NULL: not made */
    const char *refused;        /* the text behind "n (Op): "; NULL: accepted */
} row;

/* attributes of the operators that take a shape */
#define SHAPED(...) (&(shape_attr){.shape = DIMS(__VA_ARGS__)})
#define COPIED(...) (&(shape_attr){.shape = DIMS(__VA_ARGS__), .zero_copies = true})

void check_row(const row *r);

#define CHECK_ROWS(rows)                                                                           \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < COUNT_OF(rows); i_++)                                             \
            check_row(&(rows)[i_]);                                                                \
    } while (0)

#endif
