/* Pad, Resize and Upsample. */
#include "onnx/ops.h"

#include <inttypes.h>

/* Which axes a list of opset 18 is about; all, where there is no such list. */
static status named_axes(const int64_t *given, int32_t n, int32_t rank, int32_t *ret,
                         int32_t *ret_n, error *err)
{
    *ret_n = n < 0 ? rank : n;
    for (int32_t i = 0; i < *ret_n; i++) {
        ret[i] = i;
        if (n >= 0)
            TRY(call_axis(given[i], rank, &ret[i], err));
    }
    return OK;
}

status onnx_op_pad(call *c, error *err)
{
    graph_val x;
    int64_t pads[2 * GRAPH_RANK], given[GRAPH_RANK];
    int32_t n, n_given = -1, axes[GRAPH_RANK], n_axes;
    pad_attr attr;
    TRY(call_value(c, 0, &x, err));
    TRY(call_fields(c, OP_PAD, &attr, err));
    TRY(call_ints_moved(c, c->version < 2 ? "paddings" : "pads", 11, 1, pads, 2 * GRAPH_RANK, &n,
                        err));
    if (c->version >= 11)
        TRY(call_known_number(c, 2, 0.0, &attr.value, err));
    if (c->version >= 18)
        TRY(call_known_ints(c, 3, given, GRAPH_RANK, &n_given, err));
    int32_t rank = call_shape_of(c, x).rank;
    TRY(named_axes(given, n_given, rank, axes, &n_axes, err));
    if (n != 2 * n_axes)
        return FAIL(err, E_DATA, "it has %" PRId32 " pads for %" PRId32 " axes", n, n_axes);
    for (int32_t i = 0; i < n_axes; i++) {
        attr.pads[axes[i]] = pads[i];
        attr.pads[rank + axes[i]] = pads[n_axes + i];
    }
    return call_finish(c, OP_PAD, &x, 1, &attr, err);
}

/* --- Resize --- */

/* Before opset 11 there was one way only, that of Upsample. */
static status read_resize(call *c, resize_attr *ret, error *err)
{
    TRY(call_fields(c, OP_RESIZE, ret, err));
    if (c->version < 11) {
        ret->coordinates = RESIZE_ASYMMETRIC;
        ret->nearest = RESIZE_FLOOR;
    }
    return OK;
}

/* A known list of one number an axis, into `ret` at those axes; what is not there changes
 * nothing. */
static status read_numbers(call *c, int32_t input, const int32_t *axes, int32_t n_axes, double *ret,
                           bool *ret_given, error *err)
{
    const host_tensor *h;
    TRY(call_known(c, input, &h, err));
    *ret_given = h && h->n > 0;
    if (*ret_given && h->n != n_axes)
        return FAIL(err, E_DATA, "its input %" PRId32 " has %" PRId64 " numbers for %" PRId32
                                 " axes",
                    input, h->n, n_axes);
    for (int32_t i = 0; *ret_given && i < n_axes; i++)
        ret[axes[i]] = host_get(h, i);
    return OK;
}

/* A 0 of a resize_attr is an axis that is not named; a file cannot say it. */
static status check_named(const graph_shape *x, const int32_t *axes, int32_t n_axes,
                          const double *given, error *err)
{
    for (int32_t i = 0; i < n_axes; i++)
        if (!(given[axes[i]] > 0.0) && x->dim[axes[i]] > 0)
            return FAIL(err, E_DATA, "it makes axis %" PRId32 " of %" PRId64
                                     " elements %g; sizes and scales must be above 0",
                        axes[i], x->dim[axes[i]], given[axes[i]]);
    return OK;
}

static status read_roi(call *c, int32_t rank, const int32_t *axes, int32_t n_axes, double *ret,
                       error *err)
{
    const host_tensor *h;
    TRY(call_known(c, 1, &h, err));
    for (int32_t i = 0; i < rank; i++)
        ret[rank + i] = 1.0;
    if (!h || h->n != 2 * n_axes)
        return FAIL(err, E_DATA, "its roi must have 2 numbers an axis");
    for (int32_t i = 0; i < n_axes; i++) {
        ret[axes[i]] = host_get(h, i);
        ret[rank + axes[i]] = host_get(h, n_axes + i);
    }
    return OK;
}

status onnx_op_resize(call *c, error *err)
{
    graph_val x;
    int64_t given[GRAPH_RANK];
    int32_t axes[GRAPH_RANK], n_axes;
    double sizes[GRAPH_RANK] = {0};
    bool scaled, sized = false;
    resize_attr attr;
    TRY(call_value(c, 0, &x, err));
    graph_shape shape = call_shape_of(c, x);
    TRY(read_resize(c, &attr, err));
    TRY(named_axes(given, call_ints(c, "axes", given, GRAPH_RANK), shape.rank, axes, &n_axes, err));
    TRY(read_numbers(c, c->version < 11 ? 1 : 2, axes, n_axes, attr.scales, &scaled, err));
    if (c->version >= 11)
        TRY(read_numbers(c, 3, axes, n_axes, sizes, &sized, err));
    if (scaled == sized)
        return FAIL(err, E_DATA, "it needs scales or sizes, and not both");
    TRY(check_named(&shape, axes, n_axes, scaled ? attr.scales : sizes, err));
    for (int32_t i = 0; i < shape.rank; i++)
        attr.sizes[i] = (int64_t)sizes[i];
    if (attr.coordinates == RESIZE_CROP)
        TRY(read_roi(c, shape.rank, axes, n_axes, attr.roi, err));
    return call_finish(c, OP_RESIZE, &x, 1, &attr, err);
}

/* Scales were an attribute before opset 9. */
status onnx_op_upsample(call *c, error *err)
{
    graph_val x;
    int32_t axes[GRAPH_RANK], n_axes;
    bool scaled;
    resize_attr attr;
    const Onnx__AttributeProto *a = call_attribute(c, "scales");
    TRY(call_value(c, 0, &x, err));
    TRY(read_resize(c, &attr, err));
    graph_shape shape = call_shape_of(c, x);
    TRY(named_axes(NULL, -1, shape.rank, axes, &n_axes, err));
    if (c->version >= 9)
        TRY(read_numbers(c, 1, axes, n_axes, attr.scales, &scaled, err));
    else if (!a || a->n_floats != (size_t)n_axes)
        return FAIL(err, E_DATA, "its scales must have a number for each of %" PRId32 " axes", n_axes);
    for (int32_t i = 0; c->version < 9 && i < n_axes; i++)
        attr.scales[i] = (double)a->floats[i];
    TRY(check_named(&shape, axes, n_axes, attr.scales, err));
    return call_finish(c, OP_RESIZE, &x, 1, &attr, err);
}
