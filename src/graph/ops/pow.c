/*
 * Pow with broadcasting: da = dy b a^(b-1), which is 0 where b is, and db = dy y ln a, which is 0
 * where a is and b is not below 0, and no number where a is below 0. An exponent that is one known
 * number spares the questions.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    TRY(rule_float(g, n, 0, err));
    return rule_binary(g, n, ret_shape, ret_dtype, err);
}

/* dy b a^(b-1) for a known b */
static status grad_known(graph *g, const graph_node *n, float b, graph_val dy, graph_val *ret,
                         error *err)
{
    graph_val less = n->in[0];
    if (b != 2.0f) {
        graph_val power;
        TRY(emit_number(g, b - 1.0f, &power, err));
        TRY(emit_2(g, OP_POW, n->in[0], power, NULL, &less, err));
    }
    TRY(emit_2(g, OP_MUL, dy, less, NULL, ret, err));
    return emit_scale(g, *ret, b, ret, err);
}

static status grad_base(graph *g, const graph_node *n, graph_val dy, graph_val *ret, error *err)
{
    graph_val one, power, derivative;
    TRY(emit_number(g, 1.0f, &one, err));
    TRY(emit_2(g, OP_SUB, n->in[1], one, NULL, &power, err));
    TRY(emit_2(g, OP_POW, n->in[0], power, NULL, &derivative, err));
    TRY(emit_2(g, OP_MUL, derivative, n->in[1], NULL, &derivative, err));
    graph_val nothing, is_flat;
    TRY(emit_number(g, 0.0f, &nothing, err));
    TRY(emit_2(g, OP_EQUAL, n->in[1], nothing, NULL, &is_flat, err));
    const graph_val in[] = {is_flat, nothing, derivative};
    TRY(graph_add_1(g, OP_WHERE, NULL, in, 3, NULL, &derivative, err));
    return emit_2(g, OP_MUL, dy, derivative, NULL, ret, err);
}

static status grad_exponent(graph *g, const graph_node *n, graph_val dy, graph_val *ret, error *err)
{
    graph_val derivative, nothing, zero, counts, is_flat;
    TRY(emit_1(g, OP_LOG, n->in[0], NULL, &derivative, err));
    TRY(emit_2(g, OP_MUL, n->out[0], derivative, NULL, &derivative, err));
    TRY(emit_number(g, 0.0f, &nothing, err));
    TRY(emit_2(g, OP_EQUAL, n->in[0], nothing, NULL, &zero, err));
    TRY(emit_2(g, OP_GREATER_OR_EQUAL, n->in[1], nothing, NULL, &counts, err));
    TRY(emit_2(g, OP_AND, zero, counts, NULL, &is_flat, err));
    const graph_val in[] = {is_flat, nothing, derivative};
    TRY(graph_add_1(g, OP_WHERE, NULL, in, 3, NULL, &derivative, err));
    return emit_2(g, OP_MUL, dy, derivative, NULL, ret, err);
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    graph_shape a = emit_shape_of(g, n.in[0]), b = emit_shape_of(g, n.in[1]);
    const graph_value *power = graph_value_at(g, n.in[1]);
    bool known = power->kind == VAL_CONST && graph_shape_elements(&b) == 1 &&
                 *(const float *)power->data != 0.0f;
    if (want_din[0]) {
        if (known)
            TRY(grad_known(g, &n, *(const float *)power->data, dout[0], &ret_din[0], err));
        else
            TRY(grad_base(g, &n, dout[0], &ret_din[0], err));
        TRY(emit_sum_to(g, ret_din[0], &a, &ret_din[0], err));
    }
    if (want_din[1]) {
        TRY(grad_exponent(g, &n, dout[0], &ret_din[1], err));
        TRY(emit_sum_to(g, ret_din[1], &b, &ret_din[1], err));
    }
    return OK;
}

GRAPH_OP(POW, pow, "Pow", .infer = infer, .grad = grad);
