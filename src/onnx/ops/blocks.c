/* Operators that exchange blocks of an image for channels, and that repeat. */
#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

static status reorder(call *c, graph_val x, const graph_shape *apart, const int32_t *perm,
                      const graph_shape *y, error *err)
{
    transpose_attr order;
    memset(&order, 0, sizeof order);
    memcpy(order.perm, perm, 6 * sizeof *perm);
    TRY(call_emit(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = *apart}, &x, err));
    TRY(call_emit(c, OP_TRANSPOSE, &x, 1, &order, &x, err));
    return call_finish(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = *y}, err);
}

static status image(call *c, graph_val *ret, graph_shape *ret_shape, int64_t *ret_block, error *err)
{
    TRY(call_value(c, 0, ret, err));
    *ret_shape = call_shape_of(c, *ret);
    *ret_block = call_int(c, "blocksize");
    if (ret_shape->rank != 4)
        return FAIL(err, E_DATA, "its input has %" PRId32 " axes, must have 4", ret_shape->rank);
    if (*ret_block < 1 || *ret_block > INT32_MAX)
        return FAIL(err, E_DATA, "its blocksize is %" PRId64, *ret_block);
    return OK;
}

/* Which comes first of a channel's number: the place in its block, or the channel it becomes. */
static status order_of(call *c, bool *ret_dcr, error *err)
{
    const char *mode = call_str(c, "mode");
    *ret_dcr = strcmp(mode, "DCR") == 0;
    if (!*ret_dcr && strcmp(mode, "CRD") != 0)
        return FAIL(err, E_DATA, "its mode is '%s'; there are DCR and CRD", mode);
    return OK;
}

status onnx_op_depth_to_space(call *c, error *err)
{
    static const int32_t dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
    graph_val x;
    graph_shape s;
    int64_t b;
    bool is_dcr;
    TRY(image(c, &x, &s, &b, err));
    TRY(order_of(c, &is_dcr, err));
    int64_t n = s.dim[0], depth = s.dim[1] / (b * b), h = s.dim[2], w = s.dim[3];
    if (depth * b * b != s.dim[1])
        return FAIL(err, E_DATA, "its %" PRId64 " channels cannot become blocks of %" PRId64,
                    s.dim[1], b);
    graph_shape apart = {6, {n, b, b, depth, h, w}}, y = {4, {n, depth, h * b, w * b}};
    if (!is_dcr)
        apart = (graph_shape){6, {n, depth, b, b, h, w}};
    return reorder(c, x, &apart, is_dcr ? dcr : crd, &y, err);
}

status onnx_op_space_to_depth(call *c, error *err)
{
    static const int32_t dcr[] = {0, 3, 5, 1, 2, 4}, crd[] = {0, 1, 3, 5, 2, 4};
    graph_val x;
    graph_shape s;
    int64_t b;
    bool is_dcr;
    TRY(image(c, &x, &s, &b, err));
    TRY(order_of(c, &is_dcr, err));
    int64_t n = s.dim[0], depth = s.dim[1], h = s.dim[2] / b, w = s.dim[3] / b;
    if (h * b != s.dim[2] || w * b != s.dim[3])
        return FAIL(err, E_DATA, "its %" PRId64 " x %" PRId64 " are no whole blocks of %" PRId64,
                    s.dim[2], s.dim[3], b);
    graph_shape apart = {6, {n, depth, h, b, w, b}}, y = {4, {n, depth * b * b, h, w}};
    return reorder(c, x, &apart, is_dcr ? dcr : crd, &y, err);
}

/* Axis i as often as repeats[i]: [a,b] to [1,a,1,b], expanded, and put together. */
status onnx_op_tile(call *c, error *err)
{
    graph_val x;
    int64_t repeats[GRAPH_RANK];
    int32_t n;
    TRY(call_value(c, 0, &x, err));
    TRY(call_known_ints(c, 1, repeats, GRAPH_RANK, &n, err));
    graph_shape s = call_shape_of(c, x), apart = {.rank = 0}, many = {.rank = 0}, y = s;
    if (n != s.rank)
        return FAIL(err, E_DATA, "it repeats %" PRId32 " axes of %" PRId32, n, s.rank);
    for (int32_t i = 0; i < n; i++) {
        if (repeats[i] < 0 || __builtin_mul_overflow(s.dim[i], repeats[i], &y.dim[i]))
            return call_refuse(
                err, "it repeats axis %" PRId32 " %" PRId64 " times, must be 0 or more, and not too many", i,
                repeats[i]);
        if (repeats[i] != 1) {
            apart.dim[apart.rank++] = 1;
            many.dim[many.rank++] = repeats[i];
        }
        apart.dim[apart.rank++] = s.dim[i];
        many.dim[many.rank++] = s.dim[i];
        if (apart.rank >= GRAPH_RANK - 1 && i + 1 < n)
            return call_refuse(
                err, "it repeats too many axes at once; write it as two, of fewer axes each");
    }
    TRY(call_emit(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = apart}, &x, err));
    TRY(call_emit(c, OP_EXPAND, &x, 1, &(shape_attr){.shape = many}, &x, err));
    return call_finish(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = y}, err);
}
