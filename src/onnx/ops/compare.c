/* What is left of a division, and the smallest and largest of any number of operands. */
#include "onnx/ops.h"

static status inputs(call *c, graph_val *ret, int32_t n, error *err)
{
    for (int32_t i = 0; i < n; i++)
        TRY(call_value(c, i, &ret[i], err));
    return OK;
}

/* Of floats a graph has the rest with the sign of the first operand. Where the divisor's is
 * another, the divisor is added once; a rest of 0 has the divisor's sign too. */
static status float_mod(call *c, const graph_val in[2], error *err)
{
    graph_val rest, apart, zero, more, sign;
    const float nothing = 0.0f;
    TRY(call_emit(c, OP_MOD, in, 2, &(mod_attr){.fmod = true}, &rest, err));
    TRY(graph_const(c->im->g, NULL, DT_F32, (graph_shape){.rank = 0}, &nothing, &zero, err));
    TRY(call_emit(c, OP_SIGN, &rest, 1, NULL, &apart, err));
    TRY(call_emit(c, OP_MUL, (graph_val[]){apart, in[1]}, 2, NULL, &apart, err));
    TRY(call_emit(c, OP_LESS, (graph_val[]){apart, zero}, 2, NULL, &apart, err));
    TRY(call_emit(c, OP_ADD, (graph_val[]){rest, in[1]}, 2, NULL, &more, err));
    TRY(call_emit(c, OP_WHERE, (graph_val[]){apart, more, rest}, 3, NULL, &more, err));
    TRY(call_emit(c, OP_SIGN, &in[1], 1, NULL, &sign, err));
    TRY(call_emit(c, OP_MUL, (graph_val[]){zero, sign}, 2, NULL, &sign, err));
    TRY(call_emit(c, OP_EQUAL, (graph_val[]){rest, zero}, 2, NULL, &apart, err));
    return call_finish(c, OP_WHERE, (graph_val[]){apart, sign, more}, 3, NULL, err);
}

status onnx_op_mod(call *c, error *err)
{
    graph_val in[2];
    TRY(inputs(c, in, 2, err));
    bool fmod = call_int(c, "fmod") != 0;
    if (!fmod && call_at(c, in[0])->dtype == DT_F32)
        return float_mod(c, in, err);
    return call_finish(c, OP_MOD, in, 2, &(mod_attr){.fmod = fmod}, err);
}

/* Of any number of inputs, one after the other. */
static status extreme(call *c, graph_op op, error *err)
{
    graph_val in[2];
    TRY(call_value(c, 0, &in[0], err));
    for (int32_t i = 1; i < c->n_in; i++) {
        TRY(call_value(c, i, &in[1], err));
        TRY(call_emit(c, op, in, 2, NULL, &in[0], err));
    }
    call_return(c, 0, in[0]);
    return OK;
}

status onnx_op_min(call *c, error *err)
{
    return extreme(c, OP_MIN, err);
}

status onnx_op_max(call *c, error *err)
{
    return extreme(c, OP_MAX, err);
}
