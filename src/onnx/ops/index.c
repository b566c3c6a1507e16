/* Operators that pick and put by index. */
#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

static status inputs(call *c, graph_val *ret, int32_t n, error *err)
{
    for (int32_t i = 0; i < n; i++)
        TRY(call_value(c, i, &ret[i], err));
    return OK;
}

/* What was called so before opset 11, without a reduction. */
status onnx_op_scatter(call *c, error *err)
{
    graph_val in[3];
    index_attr attr;
    TRY(call_fields(c, OP_SCATTER_ELEMENTS, &attr, err));
    TRY(inputs(c, in, 3, err));
    return call_finish(c, OP_SCATTER_ELEMENTS, in, 3, &attr, err);
}

/* Where each of an update's positions lies along the axis: write_indices of its batch, and on from
 * there. */
static status written_positions(call *c, const graph_shape *past, const graph_shape *update,
                                int32_t axis, graph_val *ret, error *err)
{
    graph_val first;
    host_tensor *steps;
    graph_shape along = {.rank = update->rank}, of_batch = along;
    const int64_t size = past->dim[axis];
    for (int32_t i = 0; i < update->rank; i++) {
        along.dim[i] = i == axis ? update->dim[i] : 1;
        of_batch.dim[i] = i == 0 ? update->dim[0] : 1;
    }
    TRY(host_create(c->im->a, DT_I64, &along, &steps, err));
    for (int64_t i = 0; i < steps->n; i++)
        host_set_int(steps, i, i);
    TRY(graph_const(c->im->g, NULL, DT_I64, steps->shape, steps->data, ret, err));
    if (call_has(c, 2)) {
        TRY(call_value(c, 2, &first, err));
        TRY(call_emit(c, OP_RESHAPE, &first, 1, &(shape_attr){.shape = of_batch}, &first, err));
        TRY(call_emit(c, OP_ADD, (graph_val[]){*ret, first}, 2, NULL, ret, err));
    }
    if (strcmp(call_str(c, "mode"), "circular") == 0) {
        graph_val whole;
        TRY(graph_const(c->im->g, NULL, DT_I64, (graph_shape){.rank = 0}, &size, &whole, err));
        TRY(call_emit(c, OP_MOD, (graph_val[]){*ret, whole}, 2, &(mod_attr){.fmod = false}, ret,
                      err));
    }
    return call_emit(c, OP_EXPAND, ret, 1, &(shape_attr){.shape = *update}, ret, err);
}

status onnx_op_tensor_scatter(call *c, error *err)
{
    graph_val in[3];
    int32_t axis;
    const char *mode = call_str(c, "mode");
    if (strcmp(mode, "linear") != 0 && strcmp(mode, "circular") != 0)
        return FAIL(err, E_DATA, "its mode is '%s'; there are linear and circular", mode);
    TRY(call_value(c, 0, &in[0], err));
    TRY(call_value(c, 1, &in[2], err));
    graph_shape past = call_shape_of(c, in[0]), update = call_shape_of(c, in[2]);
    TRY(call_axis(call_int(c, "axis"), past.rank, &axis, err));
    if (axis == 0 || update.rank != past.rank || update.dim[0] != past.dim[0])
        return FAIL(err, E_DATA, "its update does not fit its cache, or its axis is the batch");
    TRY(written_positions(c, &past, &update, axis, &in[1], err));
    return call_finish(c, OP_SCATTER_ELEMENTS, in, 3, &(index_attr){.axis = axis}, err);
}

status onnx_op_trilu(call *c, error *err)
{
    double k;
    trilu_attr attr;
    TRY(call_known_number(c, 1, 0.0, &k, err));
    TRY(call_fields(c, OP_TRILU, &attr, err));
    attr.k = (int64_t)k;
    return call_unary(c, OP_TRILU, &attr, err);
}

/* depth is one number, values are [off, on] */
status onnx_op_one_hot(call *c, error *err)
{
    double depth;
    const host_tensor *values;
    TRY(call_known_number(c, 1, 0.0, &depth, err));
    TRY(call_known(c, 2, &values, err));
    if (!values || values->n != 2)
        return FAIL(err, E_DATA, "its values must be two, off and on");
    if (values->dtype == DT_F64)
        return call_refuse(err, "its values are float64; make them float32");
    one_hot_attr attr = {.axis = call_int32(c, "axis"),
                         .depth = (int64_t)depth,
                         .off = host_get(values, 0),
                         .on = host_get(values, 1),
                         .type = values->dtype};
    return call_unary(c, OP_ONE_HOT, &attr, err);
}

status onnx_op_reverse_sequence(call *c, error *err)
{
    graph_val in[2];
    int64_t batch = call_int(c, "batch_axis"), time = call_int(c, "time_axis");
    if (batch + time != 1 || batch * time != 0)
        return FAIL(err, E_DATA, "its axes are %" PRId64 " and %" PRId64 ", must be 0 and 1", batch,
                    time);
    TRY(inputs(c, in, 2, err));
    return call_finish(c, OP_REVERSE_SEQUENCE, in, 2, &(sequence_attr){.batch_first = batch == 0},
                       err);
}

/* The positions of a known condition that hold, of at most `size`. */
static status held_positions(call *c, int64_t size, host_tensor **ret, error *err)
{
    const host_tensor *condition;
    int64_t n = 0;
    TRY(call_known(c, 1, &condition, err));
    if (!condition || condition->shape.rank != 1)
        return FAIL(err, E_DATA, "its condition must have one axis");
    for (int64_t i = 0; i < condition->n; i++)
        n += host_get_int(condition, i) != 0;
    TRY(host_create(c->im->a, DT_I64, &(graph_shape){.rank = 1, .dim = {n}}, ret, err));
    for (int64_t i = 0, at = 0; i < condition->n; i++) {
        if (host_get_int(condition, i) == 0)
            continue;
        if (i >= size)
            return FAIL(err, E_DATA,
                        "its condition holds at %" PRId64 ", behind an axis of %" PRId64, i, size);
        host_set_int(*ret, at++, i);
    }
    return OK;
}

/* What a condition that is known chooses is a Gather. Without an axis it is of all elements. */
status onnx_op_compress(call *c, error *err)
{
    graph_val in[2];
    int32_t axis = 0;
    host_tensor *positions;
    TRY(call_value(c, 0, &in[0], err));
    graph_shape x = call_shape_of(c, in[0]), all = {.rank = 1, .dim = {graph_shape_elements(&x)}};
    if (call_attribute(c, "axis"))
        TRY(call_axis(call_int_or(c, "axis", 0), x.rank, &axis, err));
    else
        TRY(call_emit(c, OP_RESHAPE, in, 1, &(shape_attr){.shape = all}, &in[0], err));
    TRY(held_positions(c, call_shape_of(c, in[0]).dim[axis], &positions, err));
    TRY(graph_const(c->im->g, NULL, DT_I64, positions->shape, positions->data, &in[1], err));
    return call_finish(c, OP_GATHER, in, 2, &(gather_attr){.axis = axis}, err);
}

/* k was an attribute before opset 10. */
status onnx_op_top_k(call *c, error *err)
{
    graph_val x, out[2];
    double k = 0.0;
    if (c->version < 10)
        k = (double)call_int(c, "k");
    else
        TRY(call_known_number(c, 1, 0.0, &k, err));
    top_k_attr attr;
    TRY(call_fields(c, OP_TOP_K, &attr, err));
    attr.k = (int64_t)k;
    call_ignore(c, "sorted"); /* any order will do; they are sorted */
    TRY(call_value(c, 0, &x, err));
    TRY(graph_add(c->im->g, OP_TOP_K, c->name, &x, 1, &attr, out, err));
    call_return(c, 0, out[0]);
    call_return(c, 1, out[1]);
    return OK;
}

/* --- what is largest --- */

/* 1 at the first of the largest, 0 elsewhere; before opset 13 of the axes from `axis` on as one. */
status onnx_op_hardmax(call *c, error *err)
{
    graph_val x;
    axis_attr attr = {.axis = call_int32(c, "axis")};
    if (c->version >= 13)
        return call_unary(c, OP_HARDMAX, &attr, err);
    TRY(call_value(c, 0, &x, err));
    graph_shape shape = call_shape_of(c, x);
    TRY(call_emit(c, OP_FLATTEN, &x, 1, &attr, &x, err));
    TRY(call_emit(c, OP_HARDMAX, &x, 1, &(axis_attr){.axis = 1}, &x, err));
    return call_finish(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = shape}, err);
}
