#include "onnx/slices.h"

#include <inttypes.h>

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* numpy's rules: bounds count from the end when negative, and are cut to the axis. */
static void take(slices *s, int32_t axis, int64_t size, int64_t begin, int64_t end, int64_t step)
{
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    begin = clamp(begin < 0 ? begin + size : begin, low, high);
    end = clamp(end < 0 ? end + size : end, low, high);
    int64_t span = step > 0 ? end - begin : begin - end, stride = step > 0 ? step : -step;
    s->begin[axis] = begin;
    s->step[axis] = step;
    s->n[axis] = span > 0 ? (span - 1) / stride + 1 : 0;
}

status slices_of(call *c, const graph_shape *x, slices *ret, error *err)
{
    int64_t starts[GRAPH_RANK], ends[GRAPH_RANK], axes[GRAPH_RANK], steps[GRAPH_RANK];
    int32_t n, n_ends, n_axes, n_steps = -1, axis;
    TRY(call_ints_moved(c, "starts", 10, 1, starts, GRAPH_RANK, &n, err));
    TRY(call_ints_moved(c, "ends", 10, 2, ends, GRAPH_RANK, &n_ends, err));
    TRY(call_ints_moved(c, "axes", 10, 3, axes, GRAPH_RANK, &n_axes, err));
    if (c->version >= 10)
        TRY(call_known_ints(c, 4, steps, GRAPH_RANK, &n_steps, err));
    if (n < 0 || n != n_ends || (n_axes >= 0 && n_axes != n) || (n_steps >= 0 && n_steps != n))
        return FAIL(err, E_DATA, "its starts, ends, axes and steps differ in number");
    for (int32_t i = 0; i < x->rank; i++)
        take(ret, i, x->dim[i], 0, x->dim[i], 1);
    for (int32_t i = 0; i < n; i++) {
        TRY(call_axis(n_axes >= 0 ? axes[i] : i, x->rank, &axis, err));
        int64_t step = n_steps >= 0 ? steps[i] : 1;
        if (step == 0 || step == INT64_MIN)
            return FAIL(err, E_DATA, "the step of axis %" PRId32 " is %" PRId64, axis, step);
        if (starts[i] == INT64_MIN || ends[i] == INT64_MIN) {
            starts[i] += starts[i] == INT64_MIN;
            ends[i] += ends[i] == INT64_MIN;
        }
        take(ret, axis, x->dim[axis], starts[i], ends[i], step);
    }
    return OK;
}

status split_sizes(call *c, const graph_shape *x, int32_t *ret_axis, int64_t *ret, error *err)
{
    int32_t n;
    int64_t sum = 0;
    TRY(call_axis(call_int(c, "axis"), x->rank, ret_axis, err));
    TRY(call_ints_moved(c, "split", 13, 1, ret, c->n_out, &n, err));
    int64_t size = x->dim[*ret_axis], parts = c->n_out;
    int64_t said = call_int_or(c, "num_outputs", parts);
    if (said != parts)
        return FAIL(err, E_DATA, "it has %" PRId64 " outputs, its num_outputs is %" PRId64, parts,
                    said);
    if (n < 0) { /* equal parts, the last one smaller */
        int64_t each = (size + parts - 1) / parts;
        for (n = 0; n < parts; n++)
            ret[n] = clamp(size - each * n, 0, each);
    }
    for (int32_t i = 0; i < n; i++) {
        if (ret[i] < 0 || __builtin_add_overflow(sum, ret[i], &sum))
            sum = -1;
    }
    if (n != c->n_out || sum != size)
        return FAIL(err, E_DATA, "its %" PRId32 " parts do not make up an axis of %" PRId64, n,
                    size);
    return OK;
}
