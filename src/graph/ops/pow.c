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
    TRY(emit_3(g, OP_WHERE, is_flat, nothing, derivative, NULL, &derivative, err));
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
    TRY(emit_3(g, OP_WHERE, is_flat, nothing, derivative, NULL, &derivative, err));
    return emit_2(g, OP_MUL, dy, derivative, NULL, ret, err);
}

static status grad(const graph_gradient *d, error *err)
{
    const graph_value *power = graph_value_at(d->g, d->n.in[1]);
    bool known = power->kind == VAL_CONST && graph_shape_elements(&power->shape) == 1 &&
                 *(const float *)power->data != 0.0f;
    if (d->wants[0]) {
        if (known)
            TRY(grad_known(d->g, &d->n, *(const float *)power->data, d->dy[0], &d->dx[0], err));
        else
            TRY(grad_base(d->g, &d->n, d->dy[0], &d->dx[0], err));
        TRY(emit_to_input(d, 0, d->dx[0], err));
    }
    if (d->wants[1]) {
        TRY(grad_exponent(d->g, &d->n, d->dy[0], &d->dx[1], err));
        TRY(emit_to_input(d, 1, d->dx[1], err));
    }
    return OK;
}

GRAPH_OP(POW, pow, "Pow", .infer = infer, .grad = grad);
