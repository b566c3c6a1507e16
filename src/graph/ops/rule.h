/*
 * What shape rules share: access to inputs, messages that begin with the node and its operator, and
 * the arithmetic of broadcasting, axes and sliding windows. Only for the files of this folder, and
 * for schema.c and table.c.
 * Threads: pure functions, apart from the attributes a rule completes.
 */
#ifndef TEQUIO_GRAPH_OPS_RULE_H
#define TEQUIO_GRAPH_OPS_RULE_H

#include "graph/attrs.h"
#include "graph/graph.h"
#include "graph/schema.h"

/* The columns of ops.def as constants, so that OP_ROW can fill an op's struct from its row. */
enum {
#define OP(ID, name, fewest, most, outputs, traits, ...)                                           \
    ROW_##ID##_FEWEST = (fewest), ROW_##ID##_MOST = (most), ROW_##ID##_OUT = (outputs),            \
    ROW_##ID##_TRAITS = (traits),
#include "graph/ops.def"
};

#define OP_ROW(ID)                                                                                 \
    .op = OP_##ID, .min_in = ROW_##ID##_FEWEST, .max_in = ROW_##ID##_MOST,                         \
    .n_out = ROW_##ID##_OUT, .traits = ROW_##ID##_TRAITS

/* An operator: its row, ONNX's name, and its rules. */
#define GRAPH_OP(ID, name_, onnx, ...)                                                             \
    const graph_op_info graph_op_##name_ = {OP_ROW(ID), .name = onnx, __VA_ARGS__}
#define ATTRIBUTES(type, rows) .attr_bytes = sizeof(type), .fields = rows

#define OP(ID, name, ...) extern const graph_op_info graph_op_##name;
#include "graph/ops.def"

/* The rows of a shape_attr that has a shape alone. */
extern const attr_field rule_shape_fields[];

/* Text of a shape, living as long as the enclosing block. */
#define SHAPE(s) graph_shape_text((s), (char[SHAPE_TEXT]){0}, SHAPE_TEXT)

const graph_shape *rule_shape(const graph *g, const graph_node *n, int32_t i); /* of input i */
dtype rule_type(const graph *g, const graph_node *n, int32_t i);
bool rule_has(const graph_node *n, int32_t i); /* optional input i is there */

/* E_CONFIG, "conv2 (Conv): ..." */
status rule_fail(const graph_node *n, error *err, const char *format, ...) PRINTF_LIKE(3, 4);

/* Input i is of a floating type, or the message says what it is. */
MUST_USE status rule_float(const graph *g, const graph_node *n, int32_t i, error *err);

/* Input i is of a type that can index: int64 or int32. */
MUST_USE status rule_index(const graph *g, const graph_node *n, int32_t i, error *err);

MUST_USE status rule_type_is(const graph *g, const graph_node *n, int32_t i, dtype t, error *err);

/* Inputs i and j have one type. */
MUST_USE status rule_same_type(const graph *g, const graph_node *n, int32_t i, int32_t j,
                               error *err);

/* Inputs i and j are factors of a matmul: one floating type, that of the matmul too. Matmuls of
 * bfloat16 are added up, and given, in float32. */
MUST_USE status rule_matmul(const graph *g, const graph_node *n, int32_t i, int32_t j,
                            dtype *ret_dtype, error *err);

/* Input i has exactly this shape; `what` names it in the message ("the gradient"). */
MUST_USE status rule_expect(const graph *g, const graph_node *n, int32_t i, const char *what,
                            const graph_shape *expected, error *err);

/* A negative axis counts from the end; valid are -limit .. limit-1. */
MUST_USE status rule_axis(const graph_node *n, int32_t limit, int32_t *axis, error *err);

/* numpy's rule; false if the shapes do not fit. */
bool rule_broadcast(const graph_shape *a, const graph_shape *b, graph_shape *ret);
bool rule_broadcasts_to(const graph_shape *from, const graph_shape *to);

/* Whole rules of simple ops: one floating input; two inputs broadcast; (dy, y) of one shape. */
MUST_USE status rule_unary(const graph *g, const graph_node *n, graph_shape *ret_shape,
                           dtype *ret_dtype, error *err);
MUST_USE status rule_binary(const graph *g, const graph_node *n, graph_shape *ret_shape,
                            dtype *ret_dtype, error *err);
MUST_USE status rule_unary_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                               dtype *ret_dtype, error *err);
/* (dy, a, b), where a and b broadcast to the gradient. */
MUST_USE status rule_ternary_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                                 dtype *ret_dtype, error *err);

/* What ONNX says of a window: the same fields of conv_attr and pool_attr (schema.h). */
#define WINDOW_FIELDS(attr)                                                                        \
    ATTR_FIELD(attr, kernel, "kernel_shape", ATTR_SIZES, 0),                                       \
        ATTR_FIELD(attr, strides, "strides", ATTR_SIZES, 1),                                       \
        ATTR_FIELD(attr, dilations, "dilations", ATTR_SIZES, 1),                                   \
        ATTR_FIELD(attr, pads, "pads", ATTR_PADS, 0),                                              \
        ATTR_CHOICE(attr, auto_pad, "auto_pad", "NOTSET SAME_UPPER SAME_LOWER VALID", PAD_GIVEN)

/* A window sliding over one axis. */
typedef struct rule_window {
    int64_t size, kernel, stride, dilation, begin, end;
    bool ceil_mode;
} rule_window;

/* Sets the window's pads and ceil_mode to what `mode` says of its other numbers. */
void rule_auto_pad(auto_pad mode, rule_window *w);

/* How many positions the window takes; E_CONFIG if its numbers are impossible or it does not fit.
 */
MUST_USE status rule_slide(const graph_node *n, int32_t axis, const rule_window *w, int64_t *ret,
                           error *err);

#endif
