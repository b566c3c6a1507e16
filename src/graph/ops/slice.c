/*
 * Slice of any axes, with steps of either sign; bounds count from the end when negative and are cut
 * to the axis. Its gradient puts dy where it was taken from, among zeros or onto a base.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

/* Inputs in ONNX; axes before opset 10 were attributes. */
static const attr_field fields[] = {
    ATTR_OURS(slice_attr, n_axes, ATTR_INT, 0),
    ATTR_FIELD(slice_attr, axes, "axes", ATTR_AXES, 0),
    ATTR_FIELD(slice_attr, begin, "starts", ATTR_NUMBERS, 0),
    ATTR_FIELD(slice_attr, end, "ends", ATTR_NUMBERS, 0),
    ATTR_FIELD(slice_attr, step, "steps", ATTR_NUMBERS, 1),
    ATTR_MORE,
};

static int64_t clamp(int64_t at, int64_t least, int64_t most)
{
    return at < least ? least : at > most ? most : at;
}

/* What entry k takes of an axis, in order of the output: `count` elements from `begin` on. */
typedef struct taken {
    int64_t begin, step, count;
} taken;

static taken taken_of(const slice_attr *a, int32_t k, int64_t size)
{
    int64_t begin = a->begin[k] < 0 ? a->begin[k] + size : a->begin[k];
    int64_t end = a->end[k] < 0 ? a->end[k] + size : a->end[k];
    /* no axis is that long, and nothing overflows */
    int64_t step = clamp(a->step[k], -size - 1, size + 1);
    if (step > 0) {
        begin = clamp(begin, 0, size);
        end = clamp(end, 0, size);
        return (taken){begin, step, end > begin ? (end - begin + step - 1) / step : 0};
    }
    begin = clamp(begin, -1, size - 1);
    end = clamp(end, -1, size - 1);
    return (taken){begin, step, begin > end ? (begin - end - step - 1) / -step : 0};
}

/* Rewrites the attributes so that entry i is axis i. */
static status complete(const graph_node *n, const graph_shape *x, graph_shape *ret, error *err)
{
    slice_attr *a = (slice_attr *)n->attr, given = *a;
    if (given.n_axes < 0 || given.n_axes > x->rank)
        return rule_fail(n, err, "cannot slice %" PRId32 " axes of the input %s", given.n_axes,
                         SHAPE(x));
    bool seen[GRAPH_RANK] = {false};
    graph_shape y = *x;
    *a = (slice_attr){.n_axes = x->rank, .x = *x};
    for (int32_t i = 0; i < x->rank; i++) {
        a->axes[i] = i;
        a->end[i] = x->dim[i];
        a->step[i] = 1;
    }
    for (int32_t k = 0; k < given.n_axes; k++) {
        int32_t i = given.axes[k];
        TRY(rule_axis(n, x->rank, &i, err));
        if (seen[i])
            return rule_fail(n, err, "axis %" PRId32 " of the input %s is named twice", i,
                             SHAPE(x));
        seen[i] = true;
        if (given.step[k] == 0)
            return rule_fail(n, err, "the step of axis %" PRId32 " must not be 0", i);
        taken t = taken_of(&given, k, x->dim[i]);
        if (t.count == 0)
            t = (taken){.step = 1}; /* wherever it is that nothing is taken */
        a->begin[i] = t.begin;
        a->step[i] = t.step;
        /* said again, it means the same: one before the first is no end counted from behind */
        int64_t end = t.begin + t.count * t.step;
        a->end[i] = end < 0 ? -x->dim[i] - 1 : end;
        y.dim[i] = t.count;
    }
    *ret = y;
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    ret_dtype[0] = rule_type(g, n, 0);
    return complete(n, rule_shape(g, n, 0), &ret_shape[0], err);
}

static bool takes_all(const slice_attr *a)
{
    for (int32_t i = 0; i < a->x.rank; i++)
        if (a->begin[i] != 0 || a->step[i] != 1 || a->end[i] != a->x.dim[i])
            return false;
    return true;
}

static status grad(const graph_gradient *d, error *err)
{
    if (takes_all(d->n.attr)) {
        d->dx[0] = d->dy[0];
        return OK;
    }
    return emit_1(d->g, OP_SLICE_BWD, d->dy[0], d->n.attr, &d->dx[0], err);
}

GRAPH_OP(SLICE, slice, "Slice", ATTRIBUTES(slice_attr, fields), .infer = infer, .grad = grad);

/* The attributes are those a Slice has completed. */
static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const slice_attr *a = n->attr;
    graph_shape dy = {.rank = a->x.rank};
    TRY(rule_float(g, n, 0, err));
    for (int32_t i = 0; i < a->x.rank; i++) {
        if (a->step[i] == 0)
            return rule_fail(n, err, "the step of axis %" PRId32 " must not be 0", i);
        dy.dim[i] = taken_of(a, i, a->x.dim[i]).count;
    }
    TRY(rule_expect(g, n, 0, "the gradient", &dy, err));
    if (rule_has(n, 1))
        TRY(rule_expect(g, n, 1, "the base", &a->x, err));
    ret_shape[0] = a->x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(SLICE_BWD, slice_bwd, "SliceBwd", ATTRIBUTES(slice_attr, fields), .infer = infer_bwd);
