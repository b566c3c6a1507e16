/* Reductions over axes, what is made of them, and running sums. */
#include "onnx/ops.h"

#include <inttypes.h>

/* Axes are an attribute before opset `moved`, then input 1. */
static status read_axes(call *c, graph_op op, int64_t moved, reduce_attr *ret, error *err)
{
    int64_t axes[GRAPH_RANK];
    int32_t n;
    TRY(call_fields(c, op, ret, err));
    TRY(call_ints_moved(c, "axes", moved, 1, axes, GRAPH_RANK, &n, err));
    for (int32_t i = 0; i < n; i++)
        ret->axes[ret->n_axes++] = call_narrow(axes[i]);
    return OK;
}

/* A mean of integers is their sum, divided as integers are: towards zero. */
static status integer_mean(call *c, graph_val x, const reduce_attr *attr, error *err)
{
    graph_val in[2];
    host_tensor *depth;
    dtype t = call_at(c, x)->dtype;
    graph_shape whole = call_shape_of(c, x);
    TRY(call_emit(c, OP_REDUCE_SUM, &x, 1, attr, &in[0], err));
    graph_shape left = call_shape_of(c, in[0]);
    int64_t n = graph_shape_elements(&left);
    n = n ? graph_shape_elements(&whole) / n : 1;
    TRY(host_create(c->im->a, t, &(graph_shape){.rank = 0}, &depth, err));
    host_set_int(depth, 0, n ? n : 1);
    TRY(graph_const(c->im->g, NULL, t, depth->shape, depth->data, &in[1], err));
    return call_finish(c, OP_DIV, in, 2, NULL, err);
}

/* Extremes of bytes and conditions are those of wider integers. Where there is nothing the largest
 * is what is below all, and false; the smallest what is above all, and true. */
static status narrow_extreme(call *c, graph_op op, graph_val x, const reduce_attr *attr,
                             error *err)
{
    static const int32_t zero = 0;
    dtype t = call_at(c, x)->dtype;
    graph_val in[2];
    TRY(call_emit(c, OP_CAST, &x, 1, &(cast_attr){.to = DT_I32}, &x, err));
    TRY(call_emit(c, op, &x, 1, attr, &in[0], err));
    if (t != DT_BOOL)
        return call_finish(c, OP_CAST, in, 1, &(cast_attr){.to = t}, err);
    TRY(graph_const(c->im->g, NULL, DT_I32, (graph_shape){.rank = 0}, &zero, &in[1], err));
    return call_finish(c, OP_GREATER, in, 2, NULL, err);
}

static status reduce(call *c, graph_op op, int64_t moved, error *err)
{
    graph_val x;
    reduce_attr attr;
    TRY(read_axes(c, op, moved, &attr, err));
    TRY(call_value(c, 0, &x, err));
    dtype t = call_at(c, x)->dtype;
    if (op == OP_REDUCE_MEAN && (t == DT_I32 || t == DT_I64))
        return integer_mean(c, x, &attr, err);
    if ((op == OP_REDUCE_MAX || op == OP_REDUCE_MIN) && (t == DT_U8 || t == DT_BOOL))
        return narrow_extreme(c, op, x, &attr, err);
    return call_finish(c, op, &x, 1, &attr, err);
}

#define REDUCTION(name, op, moved)                                                                 \
    status onnx_op_reduce_##name(call *c, error *err)                                              \
    {                                                                                              \
        return reduce(c, op, moved, err);                                                          \
    }
REDUCTION(sum, OP_REDUCE_SUM, 13)
REDUCTION(mean, OP_REDUCE_MEAN, 18)
REDUCTION(max, OP_REDUCE_MAX, 18)
REDUCTION(min, OP_REDUCE_MIN, 18)
REDUCTION(prod, OP_REDUCE_PROD, 18)
REDUCTION(l1, OP_REDUCE_L1, 18)
REDUCTION(l2, OP_REDUCE_L2, 18)
REDUCTION(sum_square, OP_REDUCE_SUM_SQUARE, 18)
REDUCTION(log_sum, OP_REDUCE_LOG_SUM, 18)
REDUCTION(log_sum_exp, OP_REDUCE_LOG_SUM_EXP, 18)

/* Divided by its length; what is all zeros stays so. */
status onnx_op_lp_normalization(call *c, error *err)
{
    const float least = 0x1p-126f;
    int64_t p = call_int(c, "p");
    reduce_attr attr = {.axes = {call_int32(c, "axis")}, .n_axes = 1};
    graph_val in[2], length[2];
    if (p != 1 && p != 2)
        return FAIL(err, E_DATA, "its p is %" PRId64 "; there are 1 and 2", p);
    TRY(call_value(c, 0, &in[0], err));
    TRY(call_emit(c, p == 1 ? OP_REDUCE_L1 : OP_REDUCE_L2, in, 1, &attr, &length[0], err));
    TRY(graph_const(c->im->g, NULL, DT_F32, (graph_shape){.rank = 0}, &least, &length[1], err));
    TRY(call_emit(c, OP_MAX, length, 2, NULL, &in[1], err));
    return call_finish(c, OP_DIV, in, 2, NULL, err);
}

status onnx_op_cum_sum(call *c, error *err)
{
    int64_t axis = 0;
    int32_t n;
    cum_sum_attr attr;
    TRY(call_known_ints(c, 1, &axis, 1, &n, err));
    TRY(call_fields(c, OP_CUM_SUM, &attr, err));
    attr.axis = call_narrow(axis);
    return call_unary(c, OP_CUM_SUM, &attr, err);
}

/* --- of any number of inputs, element by element --- */

static status add_up(call *c, graph_val *ret, error *err)
{
    graph_val sum, next;
    TRY(call_value(c, 0, &sum, err));
    for (int32_t i = 1; i < c->n_in; i++) {
        TRY(call_value(c, i, &next, err));
        TRY(call_emit(c, OP_ADD, (graph_val[]){sum, next}, 2, NULL, &sum, err));
    }
    *ret = sum;
    return OK;
}

status onnx_op_sum(call *c, error *err)
{
    graph_val sum;
    TRY(add_up(c, &sum, err));
    call_return(c, 0, sum);
    return OK;
}

status onnx_op_mean(call *c, error *err)
{
    graph_val in[2];
    float count = (float)c->n_in;
    TRY(add_up(c, &in[0], err));
    TRY(graph_const(c->im->g, NULL, DT_F32, (graph_shape){.rank = 0}, &count, &in[1], err));
    return call_finish(c, OP_DIV, in, 2, NULL, err);
}
