/* Folds of operators that move elements and compute nothing. */
#include "onnx/fold/fold.h"

#include <inttypes.h>
#include <string.h>

/* The same elements under another shape. */
static status reshaped(call *c, const host_tensor *x, const graph_shape *shape, error *err)
{
    char from[SHAPE_TEXT], to[SHAPE_TEXT];
    if (onnx_fold_elements(shape) != x->n)
        return FAIL(err, E_DATA, "%s cannot take the shape %s",
                    graph_shape_text(&x->shape, from, sizeof from),
                    graph_shape_text(shape, to, sizeof to));
    host_tensor *y = arena_alloc(c->im->a, sizeof *y);
    *y = *x;
    y->shape = *shape;
    call_return_host(c, 0, y);
    return OK;
}

status onnx_fold_reshape(call *c, error *err)
{
    const host_tensor *x;
    graph_shape s = {.rank = 0};
    int64_t known = 1;
    int32_t open = -1;
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(call_ints_moved(c, "shape", 5, 1, s.dim, GRAPH_RANK, &s.rank, err));
    bool zeros = call_int(c, "allowzero") != 0;
    for (int32_t i = 0; i < s.rank; i++) {
        if (s.dim[i] == 0 && !zeros && i < x->shape.rank)
            s.dim[i] = x->shape.dim[i];
        if (s.dim[i] == -1)
            open = i;
        else if (s.dim[i] < 0 || __builtin_mul_overflow(known, s.dim[i], &known))
            return FAIL(err, E_DATA, "its shape is none");
    }
    if (open >= 0 && known == 0)
        return FAIL(err, E_DATA, "nothing tells what its -1 stands for beside a 0");
    if (open >= 0)
        s.dim[open] = x->n / known;
    return reshaped(c, x, &s, err);
}

status onnx_fold_identity(call *c, error *err)
{
    return call_return_input(c, 0, 0, err);
}

status onnx_fold_squeeze(call *c, error *err)
{
    const host_tensor *x;
    graph_shape s = {.rank = 0};
    int64_t axes[GRAPH_RANK];
    int32_t n;
    bool drop[GRAPH_RANK] = {false};
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(call_ints_moved(c, "axes", 13, 1, axes, GRAPH_RANK, &n, err));
    for (int32_t i = 0; i < n; i++) {
        int32_t axis;
        TRY(call_axis(axes[i], x->shape.rank, &axis, err));
        drop[axis] = true;
    }
    for (int32_t i = 0; i < x->shape.rank; i++)
        if (!(n < 0 ? x->shape.dim[i] == 1 : drop[i]))
            s.dim[s.rank++] = x->shape.dim[i];
    return reshaped(c, x, &s, err);
}

status onnx_fold_unsqueeze(call *c, error *err)
{
    const host_tensor *x;
    int64_t axes[GRAPH_RANK];
    int32_t n, from = 0;
    bool one[GRAPH_RANK] = {false};
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(call_ints_moved(c, "axes", 13, 1, axes, GRAPH_RANK, &n, err));
    graph_shape s = {.rank = x->shape.rank + (n < 0 ? 0 : n)};
    if (s.rank > GRAPH_RANK)
        return call_refuse(err, "it makes more than %d axes; use fewer", GRAPH_RANK);
    for (int32_t i = 0; i < n; i++) {
        int32_t axis;
        TRY(call_axis(axes[i], s.rank, &axis, err));
        if (one[axis])
            return FAIL(err, E_DATA, "axis %" PRId32 " is listed twice", axis);
        one[axis] = true;
    }
    for (int32_t i = 0; i < s.rank; i++)
        s.dim[i] = one[i] ? 1 : x->shape.dim[from++];
    return reshaped(c, x, &s, err);
}

status onnx_fold_flatten(call *c, error *err)
{
    const host_tensor *x;
    graph_shape s = {.rank = 2, .dim = {1, 1}};
    TRY(onnx_fold_input(c, 0, &x, err));
    int64_t axis = call_int(c, "axis");
    axis = axis < 0 ? axis + x->shape.rank : axis;
    for (int32_t i = 0; i < x->shape.rank; i++)
        s.dim[i >= axis] *= x->shape.dim[i];
    return reshaped(c, x, &s, err);
}

status onnx_fold_transpose(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    int64_t perm[GRAPH_RANK];
    graph_shape s;
    TRY(onnx_fold_input(c, 0, &x, err));
    int32_t rank = x->shape.rank, n = call_ints(c, "perm", perm, GRAPH_RANK);
    unsigned seen = 0;
    for (int32_t i = 0; n < 0 && i < rank; i++)
        perm[i] = rank - 1 - i;
    for (int32_t i = 0; i < rank; i++)
        seen |= perm[i] >= 0 && perm[i] < rank ? 1u << perm[i] : 0;
    if ((n >= 0 && n != rank) || seen != (1u << rank) - 1)
        return FAIL(err, E_DATA, "its perm does not name each axis once");
    s.rank = rank;
    for (int32_t i = 0; i < rank; i++)
        s.dim[i] = x->shape.dim[perm[i]];
    TRY(onnx_fold_result(c, x->dtype, &s, &y, err));
    for (int64_t i = 0; y && i < y->n; i++) {
        int64_t from = 0;
        for (int32_t k = 0; k < rank; k++)
            from += i / onnx_fold_stride(&s, k) % s.dim[k] *
                    onnx_fold_stride(&x->shape, (int32_t)perm[k]);
        host_copy(y, i, x, from);
    }
    return OK;
}

status onnx_fold_expand(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    graph_shape s = {.rank = 0};
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(call_known_ints(c, 1, s.dim, GRAPH_RANK, &s.rank, err));
    s.rank = s.rank < 0 ? 0 : s.rank;
    TRY(onnx_fold_broadcast(&x->shape, &s, &s, err));
    TRY(onnx_fold_result(c, x->dtype, &s, &y, err));
    for (int64_t i = 0; y && i < y->n; i++)
        host_copy(y, i, x, host_broadcast_at(&x->shape, &s, i));
    return OK;
}

status onnx_fold_concat(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    int32_t axis;
    TRY(onnx_fold_input(c, 0, &x, err));
    dtype t = x->dtype;
    graph_shape s = x->shape;
    TRY(call_axis(call_int(c, "axis"), s.rank, &axis, err));
    for (int32_t i = 1; i < c->n_in; i++) {
        TRY(onnx_fold_input(c, i, &x, err));
        bool fits = x->dtype == t && x->shape.rank == s.rank;
        for (int32_t k = 0; fits && k < s.rank; k++)
            fits = k == axis || x->shape.dim[k] == s.dim[k];
        if (!fits)
            return FAIL(err, E_DATA, "its input %" PRId32 " does not fit the first one", i);
        s.dim[axis] += x->shape.dim[axis];
    }
    TRY(onnx_fold_result(c, t, &s, &y, err));
    int64_t stride = onnx_fold_stride(&s, axis), before = 0;
    for (int32_t i = 0; y && i < c->n_in; i++) {
        TRY(onnx_fold_input(c, i, &x, err));
        int64_t row = x->shape.dim[axis] * stride;
        for (int64_t k = 0; k < x->n; k++)
            host_copy(y, k / row * s.dim[axis] * stride + before + k % row, x, k);
        before += row;
    }
    return OK;
}

status onnx_fold_gather(call *c, error *err)
{
    const host_tensor *x, *by;
    host_tensor *y;
    int32_t axis;
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(onnx_fold_input(c, 1, &by, err));
    TRY(call_axis(call_int(c, "axis"), x->shape.rank, &axis, err));
    graph_shape s = {.rank = x->shape.rank - 1 + by->shape.rank};
    if (s.rank > GRAPH_RANK)
        return call_refuse(err, "it makes more than %d axes; use fewer", GRAPH_RANK);
    memcpy(s.dim, x->shape.dim, (size_t)axis * sizeof *s.dim);
    memcpy(s.dim + axis, by->shape.dim, (size_t)by->shape.rank * sizeof *s.dim);
    memcpy(s.dim + axis + by->shape.rank, x->shape.dim + axis + 1,
           (size_t)(x->shape.rank - axis - 1) * sizeof *s.dim);
    TRY(onnx_fold_result(c, x->dtype, &s, &y, err));
    int64_t stride = onnx_fold_stride(&x->shape, axis), size = x->shape.dim[axis];
    for (int64_t i = 0; y && i < y->n; i++) {
        int64_t pick = host_get_int(by, i / stride % by->n);
        if (pick < -size || pick >= size)
            return FAIL(err, E_DATA, "index %" PRId64 " is outside an axis of %" PRId64, pick,
                        size);
        pick = pick < 0 ? pick + size : pick;
        host_copy(y, i, x, (i / (stride * by->n) * size + pick) * stride + i % stride);
    }
    return OK;
}
