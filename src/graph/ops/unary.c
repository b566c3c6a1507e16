/*
 * The operators of unary.def. A gradient reads x or y of its node, whichever is enough and spares
 * the memory of the other; or the copy of y that products read, half as large, where its sign is
 * enough.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

typedef enum saved { READS_NOTHING, READS_X, READS_Y, READS_SIGN_OF_Y } saved;

static const struct derivative {
    graph_op bwd;
    saved reads;
} derivatives[OP_COUNT] = {
#define SMOOTH(ID, name, onnx, import, chain, reads, ...) [OP_##ID] = {OP_##ID##_BWD, reads},
#define STEP(ID, name, ...)
#include "graph/unary.def"
};

bool unary_keeps_x(graph_op op)
{
    return derivatives[op].reads == READS_X;
}

/* What products read of v, if that is a rounded copy; otherwise v. */
static graph_val rounded_copy(const graph *g, graph_val v)
{
    for (int32_t i = graph_value_at(g, v)->def + 1; i < graph_n_nodes(g); i++) {
        const graph_node *n = graph_node_at(g, i);
        if (n->op == OP_TO_HALF && n->in[0] == v)
            return n->out[0];
    }
    return v;
}

static status smooth_grad(const graph_gradient *d, error *err)
{
    const struct derivative *s = &derivatives[d->n.op];
    graph_val kept = s->reads == READS_X ? d->n.in[0] : d->n.out[0];
    if (s->reads == READS_SIGN_OF_Y)
        kept = rounded_copy(d->g, kept);
    return emit_2(d->g, s->bwd, d->dy[0], kept, d->n.attr, &d->dx[0], err);
}

#define NUMBER(field, name, otherwise) ATTR_FIELD(unary_attr, field, name, ATTR_FLOAT, otherwise)
#define NO_ATTR                0, {0}
#define ONE(a, x)              sizeof(unary_attr), NUMBER(alpha, a, x), {0}
#define TWO(a, x, b, y)        sizeof(unary_attr), NUMBER(alpha, a, x), NUMBER(beta, b, y), {0}
#define LIMITS                 sizeof(unary_attr), ATTR_MORE
#define GELU_FORM                                                                                  \
    sizeof(gelu_attr), ATTR_CHOICE(gelu_attr, tanh, "approximate", "none tanh", 0), {0}

#define BOTH(ID, name_, onnx, bytes, ...)                                                          \
    static const attr_field name_##_fields[] = {__VA_ARGS__};                                      \
    const graph_op_info graph_op_##name_ = {                                                       \
        OP_ROW(ID), .name = onnx, .attr_bytes = bytes, .fields = name_##_fields,                   \
        .infer = rule_unary, .grad = smooth_grad,                                                  \
    };                                                                                             \
    const graph_op_info graph_op_##name_##_bwd = {                                                 \
        OP_ROW(ID##_BWD), .name = onnx "Bwd", .attr_bytes = bytes, .infer = rule_unary_bwd,        \
    };
#define SMOOTH(ID, name_, onnx, import, chain, reads, attr, ...) BOTH(ID, name_, #onnx, attr)
#define STEP(ID, name_, onnx, ...)                                                                 \
    const graph_op_info graph_op_##name_ = {                                                       \
        OP_ROW(ID), .name = #onnx, .infer = rule_unary, .grad = emit_nothing,                         \
    };
#include "graph/unary.def"
