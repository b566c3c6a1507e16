/* Sums and means over axes. */
#include "onnx/ops.h"

static status reduce(call *c, graph_op op, int64_t moved, error *err)
{
    int64_t axes[GRAPH_RANK];
    int32_t n;
    reduce_attr attr = {.drop_dims = call_int(c, "keepdims", 1) == 0};
    TRY(call_ints_moved(c, "axes", moved, 1, axes, GRAPH_RANK, &n, err));
    if (n <= 0 && call_int(c, "noop_with_empty_axes", 0)) {
        call_return_input(c, 0, 0);
        return OK;
    }
    for (int32_t i = 0; i < n; i++)
        attr.axes[attr.n_axes++] = (int32_t)axes[i];
    return call_unary(c, op, &attr, err);
}

status onnx_op_reduce_mean(call *c, error *err)
{
    return reduce(c, OP_REDUCE_MEAN, 18, err);
}

status onnx_op_reduce_sum(call *c, error *err)
{
    return reduce(c, OP_REDUCE_SUM, 13, err);
}
