/* Operators that give elements another place or shape. */
#include "onnx/ops.h"
#include "onnx/slices.h"

#include <inttypes.h>
#include <string.h>

static status reshape(call *c, const graph_shape *shape, error *err)
{
    return call_unary(c, OP_RESHAPE, &(shape_attr){.shape = *shape}, err);
}

status onnx_op_reshape(call *c, error *err)
{
    graph_shape s = {.rank = 0};
    TRY(call_ints_moved(c, "shape", 5, 1, s.dim, GRAPH_RANK, &s.rank, err));
    if (s.rank < 0)
        return FAIL(err, E_DATA, "it has no shape");
    shape_attr attr = {.shape = s, .zero_copies = call_int(c, "allowzero") == 0};
    return call_unary(c, OP_RESHAPE, &attr, err);
}

status onnx_op_squeeze(call *c, error *err)
{
    graph_shape x, y = {.rank = 0};
    dtype t;
    int64_t axes[GRAPH_RANK];
    int32_t n;
    bool drop[GRAPH_RANK] = {false};
    TRY(call_describe(c, 0, &x, &t, err));
    TRY(call_ints_moved(c, "axes", 13, 1, axes, GRAPH_RANK, &n, err));
    for (int32_t i = 0, axis; i < n; i++) {
        TRY(call_axis(axes[i], x.rank, &axis, err));
        drop[axis] = true;
        if (x.dim[axis] != 1)
            return FAIL(err, E_DATA, "axis %" PRId32 " is %" PRId64 " long, only 1 can be dropped",
                        axis, x.dim[axis]);
    }
    for (int32_t i = 0; i < x.rank; i++)
        if (!(n < 0 ? x.dim[i] == 1 : drop[i]))
            y.dim[y.rank++] = x.dim[i];
    return reshape(c, &y, err);
}

status onnx_op_unsqueeze(call *c, error *err)
{
    graph_shape x;
    dtype t;
    int64_t axes[GRAPH_RANK];
    int32_t n, from = 0;
    bool one[GRAPH_RANK] = {false};
    TRY(call_describe(c, 0, &x, &t, err));
    TRY(call_ints_moved(c, "axes", 13, 1, axes, GRAPH_RANK, &n, err));
    graph_shape y = {.rank = x.rank + (n < 0 ? 0 : n)};
    if (y.rank > GRAPH_RANK)
        return call_refuse(err, "it makes more than %d axes; use fewer", GRAPH_RANK);
    for (int32_t i = 0, axis; i < n; i++) {
        TRY(call_axis(axes[i], y.rank, &axis, err));
        if (one[axis])
            return FAIL(err, E_DATA, "axis %" PRId32 " is listed twice", axis);
        one[axis] = true;
    }
    for (int32_t i = 0; i < y.rank; i++)
        y.dim[i] = one[i] ? 1 : x.dim[from++];
    return reshape(c, &y, err);
}

status onnx_op_transpose(call *c, error *err)
{
    graph_shape x;
    dtype t;
    int64_t perm[GRAPH_RANK];
    TRY(call_describe(c, 0, &x, &t, err));
    int32_t n = call_ints(c, "perm", perm, GRAPH_RANK);
    transpose_attr attr = {.reverse = n < 0};
    if (n >= 0 && n != x.rank)
        return FAIL(err, E_DATA, "its perm has %" PRId32 " axes, its input %" PRId32, n, x.rank);
    for (int32_t i = 0; i < n; i++) {
        if (perm[i] < 0 || perm[i] >= n)
            return FAIL(err, E_DATA, "its perm names axis %" PRId64, perm[i]);
        attr.perm[i] = (int32_t)perm[i];
    }
    return call_unary(c, OP_TRANSPOSE, &attr, err);
}

status onnx_op_expand(call *c, error *err)
{
    graph_shape s = {.rank = 0};
    TRY(call_known_ints(c, 1, s.dim, GRAPH_RANK, &s.rank, err));
    if (s.rank < 0)
        return FAIL(err, E_DATA, "it has no shape");
    return call_unary(c, OP_EXPAND, &(shape_attr){.shape = s}, err);
}

status onnx_op_slice(call *c, error *err)
{
    graph_val x;
    slices cut;
    TRY(call_value(c, 0, &x, err));
    graph_shape shape = call_shape_of(c, x);
    TRY(slices_of(c, &shape, &cut, err));
    slice_attr attr = {.n_axes = 0};
    for (int32_t i = 0; i < shape.rank; i++) {
        if (cut.n[i] == shape.dim[i] && cut.step[i] > 0)
            continue;
        if (cut.n[i] == 0)
            cut.begin[i] = 0, cut.step[i] = 1;
        int64_t end = cut.begin[i] + cut.n[i] * cut.step[i];
        attr.axes[attr.n_axes] = i;
        attr.begin[attr.n_axes] = cut.begin[i];
        attr.end[attr.n_axes] = end < 0 ? -shape.dim[i] - 1 : end; /* before the first one */
        attr.step[attr.n_axes++] = cut.step[i];
    }
    if (attr.n_axes > 0)
        TRY(call_emit(c, OP_SLICE, &x, 1, &attr, &x, err));
    call_return(c, 0, x);
    return OK;
}

status onnx_op_split(call *c, error *err)
{
    graph_val x, y;
    int32_t axis;
    int64_t begin = 0, *sizes = arena_alloc(c->im->a, (size_t)c->n_out * sizeof *sizes);
    TRY(call_value(c, 0, &x, err));
    graph_shape shape = call_shape_of(c, x);
    TRY(split_sizes(c, &shape, &axis, sizes, err));
    for (int32_t k = 0; k < c->n_out; begin += sizes[k++]) {
        slice_attr attr = {
            .n_axes = 1, .axes = {axis}, .begin = {begin}, .end = {begin + sizes[k]}, .step = {1}};
        if (!call_wants(c, k))
            continue;
        TRY(call_emit(c, OP_SLICE, &x, 1, &attr, &y, err));
        call_return(c, k, y);
    }
    return OK;
}

/* Exporters merge weights that were equal by chance, and an Identity gives one back its name: so it
 * is a weight of its own. Not inside of functions, which only pass values on. */
static bool is_own_weight(const call *c)
{
    return c->in[0]->kind == SLOT_WEIGHT && !c->im->request->keep_tied && !*c->scope->prefix &&
           onnx_moves_names(c->im->moves, c->name);
}

status onnx_op_identity(call *c, error *err)
{
    if (!call_has(c, 0))
        return FAIL(err, E_DATA, "its input 0 is missing");
    if (!is_own_weight(c))
        return call_return_input(c, 0, 0, err);
    c->out[0] = walk_weight(c->im, c->name, c->im->weights[c->in[0]->weight].initializer);
    return OK;
}
