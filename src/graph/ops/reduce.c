/*
 * Reductions over some axes or all. A gradient is the reduced one times something of the input's
 * shape; broadcasting spreads it where axes of size 1 are kept.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

/* Axes are an attribute or an input in ONNX. */
static const attr_field fields[] = {
    ATTR_FIELD(reduce_attr, axes, "axes", ATTR_AXES, 0),
    ATTR_OURS(reduce_attr, n_axes, ATTR_INT, 0), /* 0: all of them */
    ATTR_FIELD(reduce_attr, drop_dims, "keepdims", ATTR_NOT, 1),
    ATTR_FIELD(reduce_attr, none, "noop_with_empty_axes", ATTR_BOOL, 0),
    ATTR_MORE,
};

/* Which axes go, as bits; the attributes then name them in order. */
static status complete(const graph_node *n, const graph_shape *x, unsigned *ret, error *err)
{
    reduce_attr *a = (reduce_attr *)n->attr;
    unsigned reduced = 0;
    if (a->n_axes < 0 || a->n_axes > GRAPH_RANK)
        return rule_fail(n, err, "cannot reduce %" PRId32 " axes", a->n_axes);
    for (int32_t i = 0; i < a->n_axes; i++) {
        TRY(rule_axis(n, x->rank, &a->axes[i], err));
        if (reduced & 1u << a->axes[i])
            return rule_fail(n, err, "axis %" PRId32 " of the input %s is named twice", a->axes[i],
                             SHAPE(x));
        reduced |= 1u << a->axes[i];
    }
    if (a->n_axes == 0 && !a->none)
        reduced = (1u << x->rank) - 1;
    *ret = reduced;
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    reduce_attr *a = (reduce_attr *)n->attr;
    unsigned reduced;
    TRY(complete(n, x, &reduced, err));
    a->n_axes = 0;
    a->none = reduced == 0;
    graph_shape y = {.rank = 0};
    for (int32_t i = 0; i < x->rank; i++) {
        bool gone = reduced & 1u << i;
        if (gone)
            a->axes[a->n_axes++] = i;
        if (!gone || !a->drop_dims)
            y.dim[y.rank++] = gone ? 1 : x->dim[i];
    }
    ret_shape[0] = y;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status infer_float(const graph *g, const graph_node *n, graph_shape *ret_shape,
                          dtype *ret_dtype, error *err)
{
    TRY(rule_float(g, n, 0, err));
    return infer(g, n, ret_shape, ret_dtype, err);
}

/* A reduced value with its axes of size 1, so that it broadcasts to the input. */
static status keep_axes(graph *g, const graph_node *n, graph_val v, graph_val *ret, error *err)
{
    const reduce_attr *a = n->attr;
    graph_shape kept = emit_shape_of(g, n->in[0]);
    for (int32_t i = 0; i < a->n_axes; i++)
        kept.dim[a->axes[i]] = 1;
    return emit_reshape(g, v, &kept, ret, err);
}

/* How many elements of the input make one of the output. */
static double depth(const graph *g, const graph_node *n)
{
    const reduce_attr *a = n->attr;
    const graph_shape *x = rule_shape(g, n, 0);
    double elements = 1;
    for (int32_t i = 0; i < a->n_axes; i++)
        elements *= (double)x->dim[a->axes[i]];
    return elements;
}

/* dy for every element of the input, or its share of a mean. */
static status spread(const graph_gradient *d, graph_val dy, graph_val *ret, error *err)
{
    graph_shape x = emit_shape_of(d->g, d->n.in[0]);
    TRY(keep_axes(d->g, &d->n, dy, &dy, err));
    if (d->n.op == OP_REDUCE_MEAN)
        TRY(emit_scale(d->g, dy, (float)(1.0 / depth(d->g, &d->n)), &dy, err));
    *ret = dy;
    graph_shape kept = emit_shape_of(d->g, dy);
    if (graph_shape_equal(&kept, &x))
        return OK;
    return emit_1(d->g, OP_EXPAND, dy, &(shape_attr){.shape = x}, ret, err);
}

static status grad_sum(const graph_gradient *d, error *err)
{
    return spread(d, d->dy[0], &d->dx[0], err);
}

/* dy sign(x), which is 0 where x is no number */
static status grad_absolute(const graph_gradient *d, error *err)
{
    graph_val dy;
    TRY(spread(d, d->dy[0], &dy, err));
    return emit_2(d->g, OP_ABS_BWD, dy, d->n.in[0], NULL, d->dx, err);
}

/* 2 dy x; dy x / y, which is 0 where y is */
static status grad_norm(const graph_gradient *d, error *err)
{
    graph_val dy = d->dy[0], x = d->n.in[0];
    if (d->n.op == OP_REDUCE_SUM_SQUARE)
        TRY(emit_scale(d->g, dy, 2.0f, &dy, err));
    if (d->n.op == OP_REDUCE_L2) {
        graph_val nothing, is_zero;
        TRY(emit_number(d->g, 0.0f, &nothing, err));
        TRY(emit_2(d->g, OP_EQUAL, d->n.out[0], nothing, NULL, &is_zero, err));
        TRY(emit_2(d->g, OP_DIV, dy, d->n.out[0], NULL, &dy, err));
        TRY(emit_3(d->g, OP_WHERE, is_zero, nothing, dy, NULL, &dy, err));
    }
    TRY(keep_axes(d->g, &d->n, dy, &dy, err));
    return emit_2(d->g, OP_MUL, x, dy, NULL, &d->dx[0], err);
}

/* dy / sum for every element, or dy e^(x-y) */
static status grad_log(const graph_gradient *d, error *err)
{
    graph_val y, share, dy;
    if (d->n.op == OP_REDUCE_LOG_SUM) {
        TRY(emit_1(d->g, OP_REDUCE_SUM, d->n.in[0], d->n.attr, &share, err));
        TRY(emit_2(d->g, OP_DIV, d->dy[0], share, NULL, &dy, err));
        return spread(d, dy, &d->dx[0], err);
    }
    TRY(keep_axes(d->g, &d->n, d->n.out[0], &y, err));
    TRY(keep_axes(d->g, &d->n, d->dy[0], &dy, err));
    TRY(emit_2(d->g, OP_SUB, d->n.in[0], y, NULL, &share, err));
    TRY(emit_1(d->g, OP_EXP, share, NULL, &share, err));
    return emit_2(d->g, OP_MUL, share, dy, NULL, &d->dx[0], err);
}

/* To the elements that are the extreme, in equal shares. */
static status grad_extreme(const graph_gradient *d, error *err)
{
    reduce_attr kept = *(const reduce_attr *)d->n.attr;
    kept.drop_dims = false;
    graph_val y, dy, is_it, count, nothing;
    TRY(keep_axes(d->g, &d->n, d->n.out[0], &y, err));
    TRY(keep_axes(d->g, &d->n, d->dy[0], &dy, err));
    TRY(emit_2(d->g, OP_EQUAL, d->n.in[0], y, NULL, &is_it, err));
    TRY(emit_1(d->g, OP_CAST, is_it, &(cast_attr){.to = DT_F32}, &count, err));
    TRY(emit_1(d->g, OP_REDUCE_SUM, count, &kept, &count, err));
    TRY(emit_2(d->g, OP_DIV, dy, count, NULL, &dy, err));
    TRY(emit_number(d->g, 0.0f, &nothing, err));
    return emit_3(d->g, OP_WHERE, is_it, dy, nothing, NULL, &d->dx[0], err);
}

static status infer_prod_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                             dtype *ret_dtype, error *err)
{
    unsigned reduced;
    TRY(rule_float(g, n, 0, err));
    TRY(complete(n, rule_shape(g, n, 1), &reduced, err));
    ret_shape[0] = *rule_shape(g, n, 1);
    ret_dtype[0] = rule_type(g, n, 1);
    return OK;
}

GRAPH_OP(REDUCE_SUM, reduce_sum, "ReduceSum", ATTRIBUTES(reduce_attr, fields), .infer = infer,
         .grad = grad_sum);
GRAPH_OP(REDUCE_MEAN, reduce_mean, "ReduceMean", ATTRIBUTES(reduce_attr, fields),
         .infer = infer_float, .grad = grad_sum);
GRAPH_OP(REDUCE_MAX, reduce_max, "ReduceMax", ATTRIBUTES(reduce_attr, fields), .infer = infer,
         .grad = grad_extreme);
GRAPH_OP(REDUCE_MIN, reduce_min, "ReduceMin", ATTRIBUTES(reduce_attr, fields), .infer = infer,
         .grad = grad_extreme);
GRAPH_OP(REDUCE_PROD, reduce_prod, "ReduceProd", ATTRIBUTES(reduce_attr, fields), .infer = infer,
         BACKWARD(REDUCE_PROD_BWD, DY(0), X(0)));
GRAPH_OP(REDUCE_L1, reduce_l1, "ReduceL1", ATTRIBUTES(reduce_attr, fields), .infer = infer_float,
         .grad = grad_absolute);
GRAPH_OP(REDUCE_L2, reduce_l2, "ReduceL2", ATTRIBUTES(reduce_attr, fields), .infer = infer_float,
         .grad = grad_norm);
GRAPH_OP(REDUCE_SUM_SQUARE, reduce_sum_square, "ReduceSumSquare", ATTRIBUTES(reduce_attr, fields),
         .infer = infer_float, .grad = grad_norm);
GRAPH_OP(REDUCE_LOG_SUM, reduce_log_sum, "ReduceLogSum", ATTRIBUTES(reduce_attr, fields),
         .infer = infer_float, .grad = grad_log);
GRAPH_OP(REDUCE_LOG_SUM_EXP, reduce_log_sum_exp, "ReduceLogSumExp", ATTRIBUTES(reduce_attr, fields),
         .infer = infer_float, .grad = grad_log);
GRAPH_OP(REDUCE_PROD_BWD, reduce_prod_bwd, "ReduceProdBwd", ATTRIBUTES(reduce_attr, fields),
         .infer = infer_prod_bwd);
