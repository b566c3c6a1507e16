/* Operators of one to three operands that broadcast, from the texts of ONNX. */
#include "numeric/support_reference_ops.h"

#include <math.h>

int64_t ref_broadcast_from(const graph_shape *from, const graph_shape *to, const int64_t *at)
{
    int64_t i = 0;
    for (int32_t d = 0; d < from->rank; d++) {
        int64_t coordinate = at[to->rank - from->rank + d];
        i = i * from->dim[d] + (from->dim[d] == 1 ? 0 : coordinate);
    }
    return i;
}

static double cast(double x, dtype to)
{
    if (to == DT_BOOL)
        return x != 0;
    return to == DT_F32 ? x : trunc(x);
}

static double divide(double a, double b, dtype t)
{
    if (t == DT_F32)
        return a / b;
    return b == 0 ? 0 : trunc(a / b);
}

static double modulo(double a, double b, dtype t, bool truncates)
{
    if (t != DT_F32 && b == 0)
        return 0;
    return truncates ? fmod(a, b) : a - floor(a / b) * b;
}

static double wrap(double x, dtype t)
{
    return t == DT_U8 ? x - 256 * floor(x / 256) : x;
}

static double arithmetic(graph_op op, double a, double b, dtype t, const void *attr)
{
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_DIV:
        return divide(a, b, t);
    case OP_MIN:
        return fmin(a, b);
    case OP_MAX:
        return fmax(a, b);
    case OP_MOD:
        return modulo(a, b, t, ((const mod_attr *)attr)->fmod);
    case OP_POW:
        return pow(a, b);
    case OP_PRELU:
        return a < 0 ? b * a : a;
    case OP_SIGMOID_CROSS_ENTROPY:
        return -b * log(1 / (1 + exp(-a))) - (1 - b) * log(1 - 1 / (1 + exp(-a)));
    default:
        BUG("the reference knows no %s", graph_op_of(op)->name);
    }
}

static double truth(graph_op op, double a, double b, const void *attr)
{
    const is_inf_attr *inf = attr;
    switch (op) {
    case OP_EQUAL:
        return a == b;
    case OP_LESS:
        return a < b;
    case OP_LESS_OR_EQUAL:
        return a <= b;
    case OP_GREATER:
        return a > b;
    case OP_GREATER_OR_EQUAL:
        return a >= b;
    case OP_AND:
        return a != 0 && b != 0;
    case OP_OR:
        return a != 0 || b != 0;
    case OP_XOR:
        return (a != 0) != (b != 0);
    case OP_NOT:
        return a == 0;
    case OP_IS_NAN:
        return isnan(a);
    default:
        return isinf(a) && !(inf->only_positive && a < 0) && !(inf->only_negative && a > 0);
    }
}

void ref_broadcast(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                   const void *attr)
{
    int64_t at[GRAPH_RANK];
    for (int64_t i = 0; i < out->n; i++) {
        double x[3] = {0};
        ref_unravel(&out->shape, i, at);
        for (int32_t k = 0; k < n_in; k++)
            x[k] = in[k].x[ref_broadcast_from(&in[k].shape, &out->shape, at)];
        if (op == OP_WHERE)
            out->x[i] = x[0] != 0 ? x[1] : x[2];
        else if (op == OP_CAST)
            out->x[i] = cast(x[0], out->type);
        else if (out->type == DT_BOOL)
            out->x[i] = truth(op, x[0], x[1], attr);
        else
            out->x[i] = wrap(arithmetic(op, x[0], x[1], out->type, attr), out->type);
    }
}
