#include "graph/ops/rule.h"

#include <inttypes.h>
#include <stdio.h>

const attr_field rule_shape_fields[] = {
    ATTR_FIELD(shape_attr, shape, "shape", ATTR_SHAPE, 0),
    ATTR_MORE,
};

const graph_shape *rule_shape(const graph *g, const graph_node *n, int32_t i)
{
    return &graph_value_at(g, n->in[i])->shape;
}

dtype rule_type(const graph *g, const graph_node *n, int32_t i)
{
    return graph_value_at(g, n->in[i])->dtype;
}

bool rule_has(const graph_node *n, int32_t i)
{
    return i < n->n_in && n->in[i] != GRAPH_NONE;
}

status rule_fail(const graph_node *n, error *err, const char *format, ...)
{
    char text[ERROR_TEXT / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return FAIL(err, E_CONFIG, "%s (%s): %s", n->name, graph_op_of(n->op)->name, text);
}

status rule_float(const graph *g, const graph_node *n, int32_t i, error *err)
{
    dtype t = rule_type(g, n, i);
    if (t == DT_F32 || dtype_is_half(t) || t == DT_F64)
        return OK;
    return rule_fail(n, err, "input '%s' is %s, must be a floating type",
                     graph_value_at(g, n->in[i])->name, dtype_name(t));
}

status rule_index(const graph *g, const graph_node *n, int32_t i, error *err)
{
    dtype t = rule_type(g, n, i);
    if (t == DT_I64 || t == DT_I32)
        return OK;
    return rule_fail(n, err, "the indices '%s' are %s, must be int64 or int32",
                     graph_value_at(g, n->in[i])->name, dtype_name(t));
}

status rule_type_is(const graph *g, const graph_node *n, int32_t i, dtype t, error *err)
{
    if (rule_type(g, n, i) == t)
        return OK;
    return rule_fail(n, err, "input '%s' is %s, must be %s", graph_value_at(g, n->in[i])->name,
                     dtype_name(rule_type(g, n, i)), dtype_name(t));
}

status rule_same_type(const graph *g, const graph_node *n, int32_t i, int32_t j, error *err)
{
    if (rule_type(g, n, i) == rule_type(g, n, j))
        return OK;
    return rule_fail(n, err, "input '%s' is %s but input '%s' is %s; they must be of one type",
                     graph_value_at(g, n->in[i])->name, dtype_name(rule_type(g, n, i)),
                     graph_value_at(g, n->in[j])->name, dtype_name(rule_type(g, n, j)));
}

status rule_matmul(const graph *g, const graph_node *n, int32_t i, int32_t j, dtype *ret_dtype,
                   error *err)
{
    TRY(rule_float(g, n, i, err));
    TRY(rule_same_type(g, n, i, j, err));
    dtype t = rule_type(g, n, i);
    *ret_dtype = dtype_is_half(t) ? DT_F32 : t;
    return OK;
}

status rule_expect(const graph *g, const graph_node *n, int32_t i, const char *what,
                   const graph_shape *expected, error *err)
{
    const graph_shape *s = rule_shape(g, n, i);
    if (graph_shape_equal(s, expected))
        return OK;
    return rule_fail(n, err, "%s %s must have the shape %s", what, SHAPE(s), SHAPE(expected));
}

status rule_axis(const graph_node *n, int32_t limit, int32_t *axis, error *err)
{
    if (*axis < -limit || *axis >= limit)
        return rule_fail(n, err, "axis %" PRId32 " is not within %" PRId32 " .. %" PRId32, *axis,
                         -limit, limit - 1);
    if (*axis < 0)
        *axis += limit;
    return OK;
}

bool rule_broadcast(const graph_shape *a, const graph_shape *b, graph_shape *ret)
{
    graph_shape out = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int32_t i = 1; i <= out.rank; i++) {
        int64_t da = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t db = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (da != db && da != 1 && db != 1)
            return false;
        out.dim[out.rank - i] = da == 1 ? db : da;
    }
    *ret = out;
    return true;
}

bool rule_broadcasts_to(const graph_shape *from, const graph_shape *to)
{
    graph_shape both;
    return rule_broadcast(from, to, &both) && graph_shape_equal(&both, to);
}

status rule_unary(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                  error *err)
{
    TRY(rule_float(g, n, 0, err));
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

status rule_binary(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                   error *err)
{
    const graph_shape *a = rule_shape(g, n, 0), *b = rule_shape(g, n, 1);
    TRY(rule_same_type(g, n, 0, 1, err));
    if (!rule_broadcast(a, b, ret_shape))
        return rule_fail(n, err, "the shapes %s and %s do not broadcast", SHAPE(a), SHAPE(b));
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

status rule_unary_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                      error *err)
{
    TRY(rule_float(g, n, 0, err));
    TRY(rule_expect(g, n, 1, "the saved value", rule_shape(g, n, 0), err));
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

void rule_auto_pad(auto_pad mode, rule_window *w)
{
    if (mode == PAD_GIVEN)
        return;
    w->begin = w->end = 0;
    w->ceil_mode = false;
    bool possible = w->size > 0 && w->kernel > 0 && w->stride > 0 && w->dilation > 0;
    if (mode == PAD_VALID || !possible) /* rule_slide says what is wrong */
        return;
    int64_t positions = (w->size - 1) / w->stride + 1, reach, total;
    if (__builtin_mul_overflow(w->dilation, w->kernel - 1, &reach) ||
        __builtin_add_overflow((positions - 1) * w->stride + 1 - w->size, reach, &total) ||
        total < 0)
        return;
    w->begin = mode == PAD_SAME_UPPER ? total / 2 : total - total / 2;
    w->end = total - w->begin;
}

status rule_ternary_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const graph_shape *dy = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
    for (int32_t i = 1; i < 3; i++) {
        TRY(rule_same_type(g, n, 0, i, err));
        if (!rule_broadcasts_to(rule_shape(g, n, i), dy))
            return rule_fail(n, err, "the operand %s does not broadcast to the gradient %s",
                             SHAPE(rule_shape(g, n, i)), SHAPE(dy));
    }
    ret_shape[0] = *dy;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

status rule_slide(const graph_node *n, int32_t axis, const rule_window *w, int64_t *ret, error *err)
{
    const int64_t limit = INT32_MAX;
    if (w->kernel < 1 || w->kernel > limit)
        return rule_fail(n, err,
                         "kernel size %" PRId64 " of spatial axis %" PRId32 " must be positive",
                         w->kernel, axis);
    if (w->stride < 1 || w->stride > limit || w->dilation < 1 || w->dilation > limit)
        return rule_fail(n, err,
                         "stride %" PRId64 " and dilation %" PRId64 " of spatial axis %" PRId32
                         " must be positive",
                         w->stride, w->dilation, axis);
    if (w->begin < 0 || w->begin > limit || w->end < 0 || w->end > limit)
        return rule_fail(n, err,
                         "pads %" PRId64 " and %" PRId64 " of spatial axis %" PRId32
                         " must not be negative",
                         w->begin, w->end, axis);
    if (w->size < 1)
        return rule_fail(n, err, "spatial axis %" PRId32 " has no elements to slide over", axis);
    int64_t extent = w->dilation * (w->kernel - 1) + 1;
    int64_t span = w->size + w->begin + w->end - extent;
    if (span < 0)
        return rule_fail(n, err,
                         "a window of %" PRId64 " does not fit into spatial axis %" PRId32
                         " of size %" PRId64 " with pads %" PRId64 " and %" PRId64,
                         extent, axis, w->size, w->begin, w->end);
    int64_t positions = span / w->stride + 1;
    if (w->ceil_mode && span % w->stride != 0) {
        /* a last window that would begin in the padding behind is left out */
        if (positions * w->stride < w->size + w->begin)
            positions++;
    }
    *ret = positions;
    return OK;
}
