/*
 * Pad in four modes; negative pads cut. The gradient of a constant pad is the pad the other way;
 * the others add up what was copied.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static const attr_field fields[] = {
    ATTR_CHOICE(pad_attr, mode, "mode", "constant reflect edge wrap", PAD_CONSTANT),
    ATTR_FIELD(pad_attr, pads, "pads", ATTR_NUMBERS, 0),
    ATTR_FIELD(pad_attr, value, "value", ATTR_FLOAT, 0),
    ATTR_MORE,
};

/* The size of a padded axis. */
static status padded(const graph_node *n, const graph_shape *x, int32_t axis, int64_t *ret,
                     error *err)
{
    const pad_attr *a = n->attr;
    const int64_t limit = INT64_MAX / 4;
    int64_t size = x->dim[axis], begin = a->pads[axis], end = a->pads[x->rank + axis];
    int64_t kept = size + (begin < 0 ? begin : 0) + (end < 0 ? end : 0);
    if (begin < -limit || begin > limit || end < -limit || end > limit || size + begin + end < 0)
        return rule_fail(n, err,
                         "pads %" PRId64 " and %" PRId64 " leave less than nothing of axis %" PRId32
                         " of the input %s",
                         begin, end, axis, SHAPE(x));
    if (kept < (a->mode == PAD_CONSTANT || (begin == 0 && end == 0) ? 0 : 1))
        return rule_fail(n, err,
                         "pads %" PRId64 " and %" PRId64 " cut more than axis %" PRId32
                         " of the input %s has",
                         begin, end, axis, SHAPE(x));
    *ret = size + begin + end;
    return OK;
}

static status pad_shape(const graph_node *n, const graph_shape *x, graph_shape *ret, error *err)
{
    *ret = *x;
    for (int32_t i = 0; i < x->rank; i++)
        TRY(padded(n, x, i, &ret->dim[i], err));
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    pad_attr *a = (pad_attr *)n->attr;
    a->x = *rule_shape(g, n, 0);
    ret_dtype[0] = rule_type(g, n, 0);
    return pad_shape(n, &a->x, &ret_shape[0], err);
}

static status grad(const graph_gradient *d, error *err)
{
    pad_attr a = *(const pad_attr *)d->n.attr;
    if (a.mode != PAD_CONSTANT)
        return emit_1(d->g, OP_PAD_BWD, d->dy[0], &a, &d->dx[0], err);
    for (int32_t i = 0; i < 2 * a.x.rank; i++)
        a.pads[i] = -a.pads[i];
    a.value = 0;
    return emit_1(d->g, OP_PAD, d->dy[0], &a, &d->dx[0], err);
}

GRAPH_OP(PAD, pad, "Pad", ATTRIBUTES(pad_attr, fields), .infer = infer, .grad = grad);

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const pad_attr *a = n->attr;
    graph_shape y;
    TRY(rule_float(g, n, 0, err));
    if (a->mode == PAD_CONSTANT)
        return rule_fail(n, err, "the mode constant is undone by a Pad");
    TRY(pad_shape(n, &a->x, &y, err));
    TRY(rule_expect(g, n, 0, "the gradient", &y, err));
    ret_shape[0] = a->x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(PAD_BWD, pad_bwd, "PadBwd", ATTRIBUTES(pad_attr, fields), .infer = infer_bwd);
