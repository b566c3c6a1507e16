/* Folds of operators that take pieces of a tensor, or sum it up. */
#include "onnx/fold/fold.h"
#include "onnx/slices.h"

#include <string.h>

/* Element i of shape `s` in x, where each axis starts and steps as said. */
static int64_t source(const graph_shape *x, const graph_shape *s, const slices *cut, int64_t i)
{
    int64_t at = 0;
    for (int32_t k = 0; k < s->rank; k++) {
        int64_t place = i / onnx_fold_stride(s, k) % s->dim[k];
        at += (cut->begin[k] + place * cut->step[k]) * onnx_fold_stride(x, k);
    }
    return at;
}

status onnx_fold_slice(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    slices cut;
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(slices_of(c, &x->shape, &cut, err));
    graph_shape s = {.rank = x->shape.rank};
    memcpy(s.dim, cut.n, (size_t)s.rank * sizeof *s.dim);
    TRY(onnx_fold_result(c, x->dtype, &s, &y, err));
    for (int64_t i = 0; y && i < y->n; i++)
        host_copy(y, i, x, source(&x->shape, &s, &cut, i));
    return OK;
}

status onnx_fold_split(call *c, error *err)
{
    const host_tensor *x;
    int32_t axis;
    int64_t before = 0, *sizes = arena_alloc(c->im->a, (size_t)c->n_out * sizeof *sizes);
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(split_sizes(c, &x->shape, &axis, sizes, err));
    for (int32_t k = 0; k < c->n_out; k++) {
        host_tensor *y;
        graph_shape s = x->shape;
        s.dim[axis] = sizes[k];
        int64_t stride = onnx_fold_stride(&s, axis), row = sizes[k] * stride;
        TRY(host_create(c->im->a, x->dtype, &s, &y, err));
        for (int64_t i = 0; i < y->n; i++)
            host_copy(y, i, x, i / row * x->shape.dim[axis] * stride + before + i % row);
        before += row;
        call_return_host(c, k, y);
    }
    return OK;
}

/* Sums, products and extremes of integers; floats are left to the run, whose order of sums counts,
 * and so are extremes of nothing. */
status onnx_fold_reduce(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    int64_t axes[GRAPH_RANK];
    int32_t n;
    bool keep = call_int(c, "keepdims") != 0;
    const char *type = c->node->op_type + strlen("Reduce");
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(call_ints_moved(c, "axes", strcmp(type, "Sum") == 0 ? 13 : 18, 1, axes, GRAPH_RANK, &n,
                        err));
    if (host_is_float(x) || (x->n == 0 && *type == 'M') ||
        (n <= 0 && call_int(c, "noop_with_empty_axes")))
        return OK;
    graph_shape full = x->shape, dropped = {.rank = 0};
    bool over[GRAPH_RANK] = {false};
    for (int32_t i = 0; i < x->shape.rank; i++)
        over[i] = n <= 0;
    for (int32_t i = 0, axis; i < n; i++) {
        TRY(call_axis(axes[i], x->shape.rank, &axis, err));
        over[axis] = true;
    }
    for (int32_t i = 0; i < full.rank; i++) {
        full.dim[i] = over[i] ? 1 : full.dim[i];
        if (!over[i])
            dropped.dim[dropped.rank++] = full.dim[i];
    }
    TRY(onnx_fold_result(c, x->dtype, keep ? &full : &dropped, &y, err));
    for (int64_t i = 0; i < y->n && x->n == 0 && *type == 'P'; i++)
        host_set_int(y, i, 1);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t at = host_broadcast_at(&full, &x->shape, i), v = host_get_int(x, i);
        int64_t held = host_get_int(y, at);
        bool first = true;
        for (int32_t k = 0; k < full.rank; k++)
            first &= !over[k] || i / onnx_fold_stride(&x->shape, k) % x->shape.dim[k] == 0;
        uint64_t with = first                            ? (uint64_t)v
                        : *type == 'S'                   ? (uint64_t)held + (uint64_t)v
                        : *type == 'P'                   ? (uint64_t)held * (uint64_t)v
                        : (type[1] == 'a') == (v > held) ? (uint64_t)v
                                                         : (uint64_t)held;
        host_set_int(y, at, (int64_t)with);
    }
    return OK;
}
