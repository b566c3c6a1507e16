/* Sequences of tensors, as far as an exporter needs them to cut a tensor into parts: they are made
 * by SplitToSequence and read by SequenceAt, at known places. */
#include "onnx/ops.h"

#include <inttypes.h>

enum { MOST_PARTS = 1024 };

/* Of an axis that is `size` long: parts of one size, the last one maybe smaller, or those listed.
 */
static status part_sizes(call *c, int64_t size, int64_t *ret, int32_t *ret_n, error *err)
{
    const host_tensor *split;
    int64_t each = 1, sum = 0;
    TRY(call_known(c, 1, &split, err));
    bool is_list = split && split->shape.rank == 1;
    if (split && !is_list)
        TRY(call_known_ints(c, 1, &each, 1, ret_n, err));
    if (each < 1)
        return FAIL(err, E_DATA, "its parts are %" PRId64 " long", each);
    int64_t n = is_list ? split->n : (size + each - 1) / each;
    if (n > MOST_PARTS)
        return call_refuse(err, "it makes %" PRId64 " parts, more than %d", n, MOST_PARTS);
    if (is_list)
        TRY(call_known_ints(c, 1, ret, MOST_PARTS, ret_n, err));
    *ret_n = (int32_t)n;
    for (int64_t k = 0; k < n; k++) {
        if (!is_list)
            ret[k] = k + 1 < n ? each : size - each * k;
        if (ret[k] < 0 || ret[k] > size - sum)
            return FAIL(err, E_DATA, "its parts do not make up an axis of %" PRId64, size);
        sum += ret[k];
    }
    return sum == size ? OK
                       : FAIL(err, E_DATA, "its parts do not make up an axis of %" PRId64, size);
}

status onnx_op_split_to_sequence(call *c, error *err)
{
    graph_val x;
    int32_t axis, n;
    int64_t sizes[MOST_PARTS], begin = 0;
    TRY(call_value(c, 0, &x, err));
    graph_shape shape = call_shape_of(c, x);
    TRY(call_axis(call_int(c, "axis", 0), shape.rank, &axis, err));
    if (!call_has(c, 1) && call_int(c, "keepdims", 1) == 0)
        return call_refuse(err, "keepdims = 0 is not supported");
    TRY(part_sizes(c, shape.dim[axis], sizes, &n, err));
    slot *items = arena_alloc(c->im->a, ((size_t)n + 1) * sizeof *items);
    for (int32_t k = 0; k < n; begin += sizes[k++]) {
        slice_attr attr = {
            .n_axes = 1, .axes = {axis}, .begin = {begin}, .end = {begin + sizes[k]}};
        items[k] = (slot){.kind = SLOT_VALUE};
        TRY(call_emit(c, OP_SLICE, &x, 1, &attr, &items[k].value, err));
    }
    c->out[0] = (slot){.kind = SLOT_LIST, .items = items, .n_items = n};
    return OK;
}

status onnx_op_sequence_at(call *c, error *err)
{
    double at;
    if (!call_has(c, 0) || c->in[0]->kind != SLOT_LIST)
        return FAIL(err, E_DATA, "its input 0 is no sequence");
    TRY(call_known_number(c, 1, 0.0, &at, err));
    int32_t n = c->in[0]->n_items;
    if (!(at >= -n && at < n))
        return FAIL(err, E_DATA, "it takes place %g of a sequence of %" PRId32, at, n);
    c->out[0] = c->in[0]->items[(int32_t)at + (at < 0 ? n : 0)];
    return OK;
}
