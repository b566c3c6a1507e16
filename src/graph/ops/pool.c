/*
 * Pooling: MaxPool, AveragePool, LpPool, which is the p-norm of every window, and GlobalAveragePool,
 * an AveragePool whose window is the whole plane, as its gradient is AveragePool's.
 *
 * MaxPool's second output remembers which element won, in whatever form the backend likes; its third
 * is ONNX's Indices, if they are asked for.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_P = 64 };

#define WINDOW WINDOW_FIELDS(pool_attr), ATTR_FIELD(pool_attr, ceil_mode, "ceil_mode", ATTR_BOOL, 0)

static const attr_field max_fields[] = {
    WINDOW,
    ATTR_FIELD(pool_attr, column_major, "storage_order", ATTR_BOOL, 0),
    {0},
};

static const attr_field average_fields[] = {
    WINDOW,
    ATTR_FIELD(pool_attr, count_include_pad, "count_include_pad", ATTR_BOOL, 0),
    {0},
};

static const attr_field lp_fields[] = {
    WINDOW,
    ATTR_WITHIN(pool_attr, p, "p", ATTR_INT, 2, 1, MOST_P),
    {0},
};

/* --- shapes --- */

/* Completes the attributes along spatial axis i, and gives how many windows there are. */
static status slide(const graph_node *n, const graph_shape *x, int32_t i, int64_t *ret, error *err)
{
    pool_attr *a = (pool_attr *)n->attr;
    int32_t spatial = x->rank - 2;
    a->kernel[i] = a->whole_plane ? x->dim[2 + i] : a->kernel[i];
    rule_window window = {.size = x->dim[2 + i],
                          .kernel = a->kernel[i],
                          .stride = a->strides[i],
                          .dilation = a->dilations[i],
                          .begin = a->pads[i],
                          .end = a->pads[spatial + i],
                          .ceil_mode = a->ceil_mode};
    rule_auto_pad(a->auto_pad, &window);
    TRY(rule_slide(n, i, &window, ret, err));
    if (a->kernel[i] == 1)
        a->dilations[i] = 1; /* says nothing, and oneDNN has no dilated windows of one position */
    a->pads[i] = window.begin;
    a->pads[spatial + i] = window.end;
    int64_t extent = a->dilations[i] * (a->kernel[i] - 1) + 1;
    if (window.begin >= extent || window.end >= extent)
        return rule_fail(n, err,
                         "pads %" PRId64 " and %" PRId64 " of spatial axis %" PRId32
                         " must be smaller than its window of %" PRId64,
                         window.begin, window.end, i, extent);
    return OK;
}

static status check_image(const graph_node *n, const graph_shape *x, error *err)
{
    if (x->rank < 3 || x->rank > 2 + SPATIAL)
        return rule_fail(n, err, "the input %s must be [batch,channels] and 1 to 3 spatial axes",
                         SHAPE(x));
    return OK;
}

/* Completes the node's attributes and gives the pooled shape of x. */
static status pooled(const graph_node *n, const graph_shape *x, graph_shape *ret, error *err)
{
    pool_attr *a = (pool_attr *)n->attr;
    TRY(check_image(n, x, err));
    graph_shape y = {.rank = x->rank, .dim = {x->dim[0], x->dim[1]}};
    for (int32_t i = 0; i < x->rank - 2; i++)
        TRY(slide(n, x, i, &y.dim[2 + i], err));
    a->ceil_mode = a->ceil_mode && a->auto_pad == PAD_GIVEN;
    a->auto_pad = PAD_GIVEN;
    *ret = y;
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    TRY(rule_float(g, n, 0, err));
    TRY(pooled(n, rule_shape(g, n, 0), &ret_shape[0], err));
    ret_dtype[0] = rule_type(g, n, 0);
    if (n->op != OP_MAX_POOL)
        return OK;
    ret_shape[1] = ret_shape[0];
    ret_dtype[1] = DT_U8;
    if (((const pool_attr *)n->attr)->indices)
        ret_shape[2] = ret_shape[0];
    ret_dtype[2] = DT_I64;
    return OK;
}

static status infer_global(const graph *g, const graph_node *n, graph_shape *ret_shape,
                           dtype *ret_dtype, error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
    TRY(check_image(n, x, err));
    graph_shape y = {.rank = x->rank, .dim = {x->dim[0], x->dim[1]}};
    for (int32_t i = 2; i < x->rank; i++) {
        if (x->dim[i] == 0)
            return rule_fail(n, err, "the planes of the input %s have no elements", SHAPE(x));
        y.dim[i] = 1;
    }
    ret_shape[0] = y;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

/* dy, then what remembers the maxima; or of an LpPool x and y */
static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const pool_attr *a = n->attr;
    graph_shape x = n->op == OP_LP_POOL_BWD ? *rule_shape(g, n, 1) : a->x, y;
    TRY(rule_float(g, n, 0, err));
    TRY(pooled(n, &x, &y, err));
    TRY(rule_expect(g, n, 0, "the gradient", &y, err));
    if (n->op == OP_MAX_POOL_BWD)
        TRY(rule_expect(g, n, 1, "the workspace", &y, err));
    if (n->op == OP_LP_POOL_BWD)
        TRY(rule_expect(g, n, 2, "the pooled value", &y, err));
    ret_shape[0] = x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

/* --- gradients --- */

static status grad(const graph_gradient *d, error *err)
{
    pool_attr a = *(const pool_attr *)d->n.attr;
    a.x = emit_shape_of(d->g, d->n.in[0]);
    if (d->n.op == OP_MAX_POOL)
        return emit_2(d->g, OP_MAX_POOL_BWD, d->dy[0], d->n.out[1], &a, &d->dx[0], err);
    if (d->n.op == OP_AVERAGE_POOL)
        return emit_1(d->g, OP_AVERAGE_POOL_BWD, d->dy[0], &a, &d->dx[0], err);
    return emit_3(d->g, OP_LP_POOL_BWD, d->dy[0], d->n.in[0], d->n.out[0], &a, &d->dx[0], err);
}

static status grad_global(const graph_gradient *d, error *err)
{
    pool_attr a;
    schema_set_defaults(average_fields, memset(&a, 0, sizeof a));
    a.whole_plane = true;
    a.x = emit_shape_of(d->g, d->n.in[0]);
    return emit_1(d->g, OP_AVERAGE_POOL_BWD, d->dy[0], &a, &d->dx[0], err);
}

GRAPH_OP(MAX_POOL, max_pool, "MaxPool", ATTRIBUTES(pool_attr, max_fields), .infer = infer,
         .grad = grad);
GRAPH_OP(AVERAGE_POOL, average_pool, "AveragePool", ATTRIBUTES(pool_attr, average_fields),
         .infer = infer, .grad = grad);
GRAPH_OP(LP_POOL, lp_pool, "LpPool", ATTRIBUTES(pool_attr, lp_fields), .infer = infer,
         .grad = grad);
GRAPH_OP(MAX_POOL_BWD, max_pool_bwd, "MaxPoolBwd", ATTRIBUTES(pool_attr, max_fields),
         .infer = infer_bwd);
GRAPH_OP(AVERAGE_POOL_BWD, average_pool_bwd, "AveragePoolBwd",
         ATTRIBUTES(pool_attr, average_fields), .infer = infer_bwd);
GRAPH_OP(LP_POOL_BWD, lp_pool_bwd, "LpPoolBwd", ATTRIBUTES(pool_attr, lp_fields),
         .infer = infer_bwd);

GRAPH_OP(GLOBAL_AVERAGE_POOL, global_average_pool, "GlobalAveragePool", .infer = infer_global,
         .grad = grad_global);
