/*
 * Numbers as integers with a scale: what is quantised, and products of it. A number is
 * (integer - zero point) * scale; scales and zero points are of all, or of positions along an axis,
 * or of blocks there. Products are computed in float32: exact where so few are summed that all sums
 * are below 2^24, and refused beyond where the result is the integer itself.
 */
#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

/* Of 8 bits less a zero point of 8: 255 * 255 * 258 < 2^24 */
enum { MOST_SUMMED = 258 };

static status two(call *c, graph_op op, graph_val a, graph_val b, graph_val *ret, error *err)
{
    return call_emit(c, op, (graph_val[]){a, b}, 2, NULL, ret, err);
}

static status cast(call *c, dtype to, graph_val *v, error *err)
{
    if (call_at(c, *v)->dtype == to)
        return OK;
    return call_emit(c, OP_CAST, v, 1, &(cast_attr){.to = to}, v, err);
}

static status whole(call *c, int32_t value, graph_val *ret, error *err)
{
    return graph_const(c->im->g, NULL, DT_I32, (graph_shape){.rank = 0}, &value, ret, err);
}

static status reshape(call *c, const graph_shape *s, graph_val *v, error *err)
{
    return call_emit(c, OP_RESHAPE, v, 1, &(shape_attr){.shape = *s}, v, err);
}

/* --- scales and zero points --- */

/* A vector [n] along that axis of so many. */
static status reshape_along(call *c, int32_t axis, int32_t rank, graph_val *v, error *err)
{
    graph_shape own = call_shape_of(c, *v), s = {.rank = rank};
    if (graph_shape_elements(&own) == 1)
        return reshape(c, &(graph_shape){.rank = 0}, v, err);
    if (own.rank != 1)
        return call_refuse(err, "its scales or zero points have %" PRId32 " axes, must have 1",
                           own.rank);
    for (int32_t i = 0; i < rank; i++)
        s.dim[i] = i == axis ? own.dim[0] : 1;
    return reshape(c, &s, v, err);
}

/* Each block's as often as it has positions, the last one's perhaps less. */
static status repeat_blocks(call *c, int32_t axis, int64_t size, int64_t block, graph_val *v,
                            error *err)
{
    host_tensor *positions;
    graph_val in[2] = {*v, GRAPH_NONE};
    int64_t blocks = call_shape_of(c, *v).dim[axis];
    if (block < 1 || blocks != (size + block - 1) / block)
        return FAIL(err, E_DATA,
                    "it has %" PRId64 " blocks of %" PRId64 " for %" PRId64 " positions", blocks,
                    block, size);
    TRY(host_create(c->im->a, DT_I64, &(graph_shape){.rank = 1, .dim = {size}}, &positions, err));
    for (int64_t i = 0; i < size; i++)
        host_set_int(positions, i, i / block);
    TRY(graph_const(c->im->g, NULL, DT_I64, positions->shape, positions->data, &in[1], err));
    return call_emit(c, OP_GATHER, in, 2, &(gather_attr){.axis = axis}, v, err);
}

/* As the node's axis and block_size say, so that it broadcasts to `x`. */
static status spread(call *c, const graph_shape *x, graph_val *v, error *err)
{
    graph_shape own = call_shape_of(c, *v);
    int64_t block = call_int(c, "block_size"), axis = call_int(c, "axis");
    int32_t at = 0;
    if (graph_shape_elements(&own) > 1 || (block && own.rank))
        TRY(call_axis(axis, x->rank, &at, err));
    if (block && own.rank && own.rank == x->rank)
        return repeat_blocks(c, at, x->dim[at], block, v, err);
    return reshape_along(c, at, x->rank, v, err);
}

/* --- one number --- */

/* Whole numbers of float32 into the range of an integer type of up to 16 bits, a zero point of
 * int32 added. What is far beyond would overflow with it, so it is cut before. */
static status into_range(call *c, const onnx_element *e, graph_val zero, graph_val *v, error *err)
{
    int64_t most = ((int64_t)1 << (e->is_signed ? e->bits - 1 : e->bits)) - 1;
    graph_val low, high;
    TRY(call_emit(c, OP_ROUND, v, 1, NULL, v, err));
    TRY(call_emit(c, OP_CLIP, v, 1, &(unary_attr){.alpha = -0x1p18f, .beta = 0x1p18f}, v, err));
    TRY(cast(c, DT_I32, v, err));
    if (zero != GRAPH_NONE)
        TRY(two(c, OP_ADD, *v, zero, v, err));
    TRY(whole(c, e->is_signed ? (int32_t)(-most - 1) : 0, &low, err));
    TRY(whole(c, (int32_t)most, &high, err));
    TRY(two(c, OP_MAX, *v, low, v, err));
    TRY(two(c, OP_MIN, *v, high, v, err));
    return cast(c, e->ours, v, err);
}

/* A type that things are quantised to. */
static status check_target(const onnx_element *e, error *err)
{
    if (!e || e->kind == ELEMENT_NONE || e->bits > 16 || e->ours == DT_BOOL)
        return call_refuse(err, "it quantises to %s; integers of up to 16 bits are supported",
                           e ? e->name : "a type without name");
    return OK;
}

/* To floats of 8 and 4 bits, of what is known. */
static status quantize_known(call *c, const onnx_element *to, error *err)
{
    const host_tensor *x, *scale, *zero;
    host_tensor *y;
    TRY(call_known(c, 0, &x, err));
    TRY(call_known(c, 1, &scale, err));
    TRY(call_known(c, 2, &zero, err));
    int32_t axis = 0;
    if (scale->n > 1)
        TRY(call_axis(call_int(c, "axis"), x->shape.rank, &axis, err));
    if (scale->n > 1 && (scale->shape.rank != 1 || scale->n != x->shape.dim[axis]))
        return call_refuse(err, "it quantises to %s in blocks; export it by tensor or by axis",
                           to->name);
    int64_t stride = 1;
    for (int32_t i = axis + 1; i < x->shape.rank; i++)
        stride *= x->shape.dim[i];
    for (int64_t i = 0; zero && i < zero->n; i++)
        if (host_get(zero, i) != 0.0)
            return call_refuse(
                err, "it quantises to %s around a number that is not 0; leave the zero point out",
                to->name);
    TRY(host_create(c->im->a, to->ours, &x->shape, &y, err));
    for (int64_t i = 0; i < y->n; i++) {
        float by = (float)host_get(scale, scale->n > 1 ? i / stride % scale->n : 0);
        host_set(y, i,
                 element_round(to, (double)((float)host_get(x, i) / by), call_flag(c, "saturate")));
    }
    call_return_host(c, 0, y);
    call_type(c, 0, to->onnx);
    return OK;
}

status onnx_op_quantize_linear(call *c, error *err)
{
    graph_val x, scale, zero = GRAPH_NONE;
    int64_t said = call_int(c, "output_dtype");
    const onnx_element *to =
        call_has(c, 2) ? call_element(c, 2) : element_of(said ? call_narrow(said) : ONNX_UINT8);
    TRY(check_target(to, err));
    call_ignore(c, "saturate"); /* integers always do */
    call_ignore(c, "axis");     /* where one scale is for all */
    if (to->kind == ELEMENT_FLOAT)
        return quantize_known(c, to, err);
    TRY(call_value(c, 0, &x, err));
    graph_shape shape = call_shape_of(c, x);
    TRY(cast(c, DT_F32, &x, err));
    TRY(call_value(c, 1, &scale, err));
    TRY(cast(c, DT_F32, &scale, err));
    TRY(spread(c, &shape, &scale, err));
    if (call_has(c, 2)) {
        TRY(call_value(c, 2, &zero, err));
        TRY(cast(c, DT_I32, &zero, err));
        TRY(spread(c, &shape, &zero, err));
    }
    TRY(two(c, OP_DIV, x, scale, &x, err));
    TRY(into_range(c, to, zero, &x, err));
    call_return(c, 0, x);
    call_type(c, 0, to->onnx);
    return OK;
}

/* Input i less its zero point, which `along` lays out, as float32: exactly. */
static status centred(call *c, int32_t i, graph_val zero, graph_val *ret, error *err)
{
    TRY(call_value(c, i, ret, err));
    if (call_at(c, *ret)->dtype != DT_F32) {
        TRY(cast(c, DT_I32, ret, err));
        if (zero != GRAPH_NONE)
            TRY(cast(c, DT_I32, &zero, err));
    }
    if (zero != GRAPH_NONE)
        TRY(two(c, OP_SUB, *ret, zero, ret, err));
    return cast(c, DT_F32, ret, err);
}

status onnx_op_dequantize_linear(call *c, error *err)
{
    graph_val x, scale, zero = GRAPH_NONE;
    graph_shape shape;
    dtype t;
    int64_t said = call_int(c, "output_dtype");
    call_ignore(c, "axis");
    TRY(call_describe(c, 0, &shape, &t, err));
    TRY(call_value(c, 1, &scale, err));
    TRY(cast(c, DT_F32, &scale, err));
    TRY(spread(c, &shape, &scale, err));
    if (call_has(c, 2)) {
        TRY(call_value(c, 2, &zero, err));
        TRY(spread(c, &shape, &zero, err));
    }
    TRY(centred(c, 0, zero, &x, err));
    TRY(two(c, OP_MUL, x, scale, &x, err));
    const onnx_element *to = said ? element_of(call_narrow(said)) : call_element(c, 1);
    if (!to || to->kind != ELEMENT_FLOAT || to->bits < 16)
        return call_refuse(err, "it makes %s; float32 is supported",
                           to ? to->name : "a type without name");
    call_return(c, 0, x);
    call_type(c, 0, to->onnx);
    return OK;
}

/* To uint8, by the range of what there is, 0 within. */
status onnx_op_dynamic_quantize_linear(call *c, error *err)
{
    graph_val x, low, high, scale, zero, nothing, steps, y;
    const float none = 0.0f, all = 255.0f;
    const graph_shape scalar = {.rank = 0};
    const reduce_attr whole_tensor = {.drop_dims = true};
    const onnx_element *to = element_of(ONNX_UINT8);
    TRY(call_value(c, 0, &x, err));
    TRY(graph_const(c->im->g, NULL, DT_F32, scalar, &none, &nothing, err));
    TRY(graph_const(c->im->g, NULL, DT_F32, scalar, &all, &steps, err));
    TRY(call_emit(c, OP_REDUCE_MIN, &x, 1, &whole_tensor, &low, err));
    TRY(call_emit(c, OP_REDUCE_MAX, &x, 1, &whole_tensor, &high, err));
    TRY(two(c, OP_MIN, low, nothing, &low, err));
    TRY(two(c, OP_MAX, high, nothing, &high, err));
    TRY(two(c, OP_SUB, high, low, &scale, err));
    TRY(two(c, OP_DIV, scale, steps, &scale, err));
    TRY(two(c, OP_DIV, low, scale, &zero, err));
    TRY(two(c, OP_SUB, nothing, zero, &zero, err));
    TRY(into_range(c, to, GRAPH_NONE, &zero, err));
    graph_val wide = zero;
    TRY(cast(c, DT_I32, &wide, err));
    TRY(two(c, OP_DIV, x, scale, &y, err));
    TRY(into_range(c, to, wide, &y, err));
    call_return(c, 0, y);
    call_return(c, 1, scale);
    call_return(c, 2, zero);
    return OK;
}

/* --- products --- */

/* The operands, inputs at[], less their zero points, inputs zeros[], which lie along axes[]. */
static status factors(call *c, const int32_t at[2], const int32_t zeros[2], const int32_t axes[2],
                      graph_val ret[2], error *err)
{
    for (int32_t k = 0; k < 2; k++) {
        graph_val zero = GRAPH_NONE;
        graph_shape s;
        dtype t;
        TRY(call_describe(c, at[k], &s, &t, err));
        if (call_element(c, at[k])->bits > 8)
            return call_refuse(err,
                               "its operands have more than 8 bits; quantise to int8 or uint8");
        if (call_has(c, zeros[k])) {
            TRY(call_value(c, zeros[k], &zero, err));
            TRY(reshape_along(c, axes[k] < 0 ? s.rank + axes[k] : axes[k], s.rank, &zero, err));
        }
        TRY(centred(c, at[k], zero, &ret[k], err));
    }
    return OK;
}

static status integer_product(call *c, int64_t summed, graph_val *v, error *err)
{
    if (summed > MOST_SUMMED)
        return call_refuse(err,
                           "it sums %" PRId64
                           " products; up to %d are exact here. Export it before it is quantised",
                           summed, MOST_SUMMED);
    TRY(cast(c, DT_I32, v, err));
    call_return(c, 0, *v);
    return OK;
}

/* a's and b's scale over y's, b's along `axis` of the result; then y's zero point. */
static status requantize(call *c, const int32_t scales[3], int32_t zero, int32_t axis, graph_val v,
                         error *err)
{
    graph_val by[3], around;
    int32_t rank = call_shape_of(c, v).rank;
    const onnx_element *to = call_element(c, zero);
    TRY(check_target(to, err));
    if (to->kind != ELEMENT_INTEGER)
        return call_refuse(err, "it makes %s; int8 and uint8 are supported", to->name);
    for (int32_t k = 0; k < 3; k++) {
        TRY(call_value(c, scales[k], &by[k], err));
        TRY(cast(c, DT_F32, &by[k], err));
        TRY(reshape_along(c, axis < 0 ? rank + axis : axis, rank, &by[k], err));
    }
    TRY(call_value(c, zero, &around, err));
    TRY(cast(c, DT_I32, &around, err));
    TRY(reshape_along(c, axis < 0 ? rank + axis : axis, rank, &around, err));
    TRY(two(c, OP_MUL, by[0], by[1], &by[0], err));
    TRY(two(c, OP_DIV, by[0], by[2], &by[0], err));
    TRY(two(c, OP_MUL, v, by[0], &v, err));
    TRY(into_range(c, to, around, &v, err));
    call_return(c, 0, v);
    call_type(c, 0, to->onnx);
    return OK;
}

status onnx_op_mat_mul_integer(call *c, error *err)
{
    graph_val in[2], y;
    TRY(factors(c, (int32_t[]){0, 1}, (int32_t[]){2, 3}, (int32_t[]){-2, -1}, in, err));
    graph_shape a = call_shape_of(c, in[0]);
    TRY(call_emit(c, OP_MATMUL, in, 2, NULL, &y, err));
    return integer_product(c, a.rank ? a.dim[a.rank - 1] : 1, &y, err);
}

status onnx_op_qlinear_mat_mul(call *c, error *err)
{
    graph_val in[2], y;
    graph_shape a_scale;
    dtype t;
    TRY(factors(c, (int32_t[]){0, 3}, (int32_t[]){2, 5}, (int32_t[]){-2, -1}, in, err));
    TRY(call_describe(c, 1, &a_scale, &t, err));
    if (graph_shape_elements(&a_scale) != 1)
        return call_refuse(err,
                           "the rows of its first operand have scales of their own; give it one");
    TRY(call_emit(c, OP_MATMUL, in, 2, NULL, &y, err));
    return requantize(c, (int32_t[]){1, 4, 6}, 7, -1, y, err);
}

static status convolve(call *c, const int32_t at[2], const int32_t zeros[2], graph_val *ret,
                       int64_t *ret_summed, error *err)
{
    graph_val in[3] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    conv_attr attr;
    TRY(factors(c, at, zeros, (int32_t[]){1, 0}, in, err));
    graph_shape k = call_shape_of(c, in[1]);
    TRY(call_fields(c, OP_CONV, &attr, err));
    *ret_summed = k.dim[0] ? graph_shape_elements(&k) / k.dim[0] : 0;
    return call_emit(c, OP_CONV, in, 3, &attr, ret, err);
}

status onnx_op_conv_integer(call *c, error *err)
{
    graph_val y;
    int64_t summed;
    TRY(convolve(c, (int32_t[]){0, 1}, (int32_t[]){2, 3}, &y, &summed, err));
    return integer_product(c, summed, &y, err);
}

/* The bias is an integer of the scale of the products. */
status onnx_op_qlinear_conv(call *c, error *err)
{
    graph_val y, bias;
    int64_t summed;
    TRY(convolve(c, (int32_t[]){0, 3}, (int32_t[]){2, 5}, &y, &summed, err));
    if (call_has(c, 8)) {
        TRY(call_value(c, 8, &bias, err));
        TRY(cast(c, DT_F32, &bias, err));
        TRY(reshape_along(c, 1, call_shape_of(c, y).rank, &bias, err));
        TRY(two(c, OP_ADD, y, bias, &y, err));
    }
    return requantize(c, (int32_t[]){1, 4, 6}, 7, 1, y, err);
}
