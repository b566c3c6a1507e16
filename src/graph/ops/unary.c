/*
 * The operators of unary.def. A gradient reads x or y of its node, whichever is enough and spares
 * the memory of the other; or the copy of y that products read, half as large, where its sign is
 * enough.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#define READS_X(ID)            BACKWARD(ID##_BWD, DY(0), X(0))
#define READS_Y(ID)            BACKWARD(ID##_BWD, DY(0), Y(0))
#define READS_SIGN_OF_Y(ID)    .grad = emit_by_sign, READS(ID##_BWD, DY(0), Y(0))

#define NUMBER(field, name, otherwise) ATTR_FIELD(unary_attr, field, name, ATTR_FLOAT, otherwise)
#define NO_ATTR                0, {0}
#define ONE(a, x)              sizeof(unary_attr), NUMBER(alpha, a, x), {0}
#define TWO(a, x, b, y)        sizeof(unary_attr), NUMBER(alpha, a, x), NUMBER(beta, b, y), {0}
#define LIMITS                 sizeof(unary_attr), ATTR_MORE
#define GELU_FORM                                                                                  \
    sizeof(gelu_attr), ATTR_CHOICE(gelu_attr, tanh, "approximate", "none tanh", 0), {0}

#define BOTH(ID, name_, onnx, reads, bytes, ...)                                                   \
    static const attr_field name_##_fields[] = {__VA_ARGS__};                                      \
    const graph_op_info graph_op_##name_ = {                                                       \
        OP_ROW(ID), .name = onnx, .attr_bytes = bytes, .fields = name_##_fields,                   \
        .infer = rule_unary, reads(ID),                                                            \
    };                                                                                             \
    const graph_op_info graph_op_##name_##_bwd = {                                                 \
        OP_ROW(ID##_BWD), .name = onnx "Bwd", .attr_bytes = bytes, .infer = rule_unary_bwd,        \
    };
#define SMOOTH(ID, name_, onnx, import, chain, reads, attr, ...)                                   \
    BOTH(ID, name_, #onnx, reads, attr)
#define STEP(ID, name_, onnx, ...)                                                                 \
    const graph_op_info graph_op_##name_ = {                                                       \
        OP_ROW(ID), .name = #onnx, .infer = rule_unary, .grad = emit_nothing,                         \
    };
#include "graph/unary.def"
