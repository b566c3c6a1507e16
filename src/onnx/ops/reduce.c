/* Sums and means over axes, and what is made of them. */
#include "onnx/ops.h"

/* Axes are an attribute before opset `moved`, then input 1. *ret_all: there are none to reduce. */
static status read_axes(call *c, int64_t moved, reduce_attr *ret, bool *ret_none, error *err)
{
    int64_t axes[GRAPH_RANK];
    int32_t n;
    reduce_attr attr = {.drop_dims = call_int(c, "keepdims", 1) == 0};
    TRY(call_ints_moved(c, "axes", moved, 1, axes, GRAPH_RANK, &n, err));
    for (int32_t i = 0; i < n; i++)
        attr.axes[attr.n_axes++] = (int32_t)axes[i];
    *ret = attr;
    *ret_none = n <= 0 && call_int(c, "noop_with_empty_axes", 0) != 0;
    return OK;
}

static status reduce(call *c, graph_op op, int64_t moved, error *err)
{
    reduce_attr attr;
    bool none;
    TRY(read_axes(c, moved, &attr, &none, err));
    if (!none)
        return call_unary(c, op, &attr, err);
    call_return_input(c, 0, 0);
    return OK;
}

status onnx_op_reduce_mean(call *c, error *err)
{
    return reduce(c, OP_REDUCE_MEAN, 18, err);
}

status onnx_op_reduce_sum(call *c, error *err)
{
    return reduce(c, OP_REDUCE_SUM, 13, err);
}

/* after(sum of before(x)); OP_IDENTITY leaves as it is. */
static status reduce_between(call *c, graph_op before, graph_op after, error *err)
{
    graph_val x;
    reduce_attr attr;
    bool none;
    TRY(read_axes(c, 18, &attr, &none, err));
    TRY(call_value(c, 0, &x, err));
    if (before == OP_MUL)
        TRY(call_emit(c, OP_MUL, (graph_val[]){x, x}, 2, NULL, &x, err));
    else if (before != OP_IDENTITY)
        TRY(call_emit(c, before, &x, 1, NULL, &x, err));
    if (!none)
        TRY(call_emit(c, OP_REDUCE_SUM, &x, 1, &attr, &x, err));
    return call_finish(c, after, &x, 1, NULL, err);
}

status onnx_op_reduce_l1(call *c, error *err)
{
    return reduce_between(c, OP_ABS, OP_IDENTITY, err);
}

status onnx_op_reduce_l2(call *c, error *err)
{
    return reduce_between(c, OP_MUL, OP_SQRT, err);
}

status onnx_op_reduce_sum_square(call *c, error *err)
{
    return reduce_between(c, OP_MUL, OP_IDENTITY, err);
}

status onnx_op_reduce_log_sum(call *c, error *err)
{
    return reduce_between(c, OP_IDENTITY, OP_LOG, err);
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
