/*
 * Conv over 1 to 3 spatial axes, with groups, and the two halves of its gradient. The backward ops
 * carry the shape they produce, because it does not follow from the shapes they read.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

/* Fills in strides, dilations and group of 0. */
static conv_attr *complete(const graph_node *n)
{
    conv_attr *a = (conv_attr *)n->attr;
    for (int32_t i = 0; i < SPATIAL; i++) {
        a->strides[i] = a->strides[i] ? a->strides[i] : 1;
        a->dilations[i] = a->dilations[i] ? a->dilations[i] : 1;
    }
    a->group = a->group ? a->group : 1;
    return a;
}

/* [N,C,spatial...] and [M,C/group,kernel...] to [N,M,spatial...] */
static status conv_shape(const graph_node *n, const graph_shape *x, const graph_shape *w,
                         conv_attr *a, graph_shape *ret, error *err)
{
    int32_t spatial = x->rank - 2;
    if (spatial < 1 || spatial > SPATIAL)
        return rule_fail(n, err, "the input %s must be [batch,channels] and 1 to 3 spatial axes",
                         SHAPE(x));
    if (w->rank != x->rank)
        return rule_fail(n, err, "the weights %s must have as many axes as the input %s", SHAPE(w),
                         SHAPE(x));
    if (a->group < 1 || w->dim[0] % a->group != 0)
        return rule_fail(n, err, "the weights %s cannot be dealt to %" PRId64 " groups", SHAPE(w),
                         a->group);
    int64_t expected;
    if (__builtin_mul_overflow(w->dim[1], a->group, &expected) || expected != x->dim[1])
        return rule_fail(n, err,
                         "the input %s has %" PRId64 " channel%s but the weights %s expect "
                         "%" PRId64 "%s",
                         SHAPE(x), x->dim[1], x->dim[1] == 1 ? "" : "s", SHAPE(w), expected,
                         a->group > 1 ? " in all groups" : "");
    graph_shape y = {.rank = x->rank, .dim = {x->dim[0], w->dim[0]}};
    for (int32_t i = 0; i < spatial; i++) {
        rule_window window = {.size = x->dim[2 + i],
                              .kernel = w->dim[2 + i],
                              .stride = a->strides[i],
                              .dilation = a->dilations[i],
                              .begin = a->pads[i],
                              .end = a->pads[spatial + i]};
        rule_auto_pad(a->auto_pad, &window);
        a->pads[i] = window.begin;
        a->pads[spatial + i] = window.end;
        TRY(rule_slide(n, i, &window, &y.dim[2 + i], err));
    }
    a->auto_pad = PAD_GIVEN;
    *ret = y;
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *w = rule_shape(g, n, 1);
    TRY(rule_float(g, n, 0, err));
    TRY(rule_same_type(g, n, 0, 1, err));
    TRY(conv_shape(n, rule_shape(g, n, 0), w, complete(n), ret_shape, err));
    if (rule_has(n, 2)) {
        TRY(rule_same_type(g, n, 0, 2, err));
        TRY(rule_expect(g, n, 2, "the bias", &(graph_shape){.rank = 1, .dim = {w->dim[0]}}, err));
    }
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static double flops_of(const graph *g, graph_val y, const graph_shape *w)
{
    double taps = (double)graph_shape_elements(w) / (double)w->dim[0];
    return 2.0 * (double)graph_shape_elements(&graph_value_at(g, y)->shape) * taps;
}

static double flops(const graph *g, const graph_node *n)
{
    return flops_of(g, n->out[0], rule_shape(g, n, 1));
}

/* The bias alone needs no convolution: it is the sum over everything but the channels. */
static status bias_grad(graph *g, graph_val dy, graph_val *ret, error *err)
{
    graph_shape s = emit_shape_of(g, dy);
    reduce_attr a = {.drop_dims = true};
    for (int32_t i = 0; i < s.rank; i++) {
        if (i != 1)
            a.axes[a.n_axes++] = i;
    }
    return emit_1(g, OP_REDUCE_SUM, dy, &a, ret, err);
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    conv_attr a = *(const conv_attr *)n.attr;
    a.x = emit_shape_of(g, n.in[0]);
    a.w = emit_shape_of(g, n.in[1]);
    a.with_bias = want_din[2];
    if (want_din[1]) {
        graph_val out[2];
        TRY(graph_add(g, OP_CONV_BWD_WEIGHTS, NULL, (const graph_val[]){n.in[0], dout[0]}, 2, &a,
                      out, err));
        ret_din[1] = out[0];
        if (want_din[2])
            ret_din[2] = out[1];
    } else if (want_din[2]) {
        TRY(bias_grad(g, dout[0], &ret_din[2], err));
    }
    if (want_din[0])
        TRY(emit_2(g, OP_CONV_BWD_DATA, dout[0], n.in[1], &a, &ret_din[0], err));
    return OK;
}

const graph_op_info graph_op_conv = {
    OP_ROW(CONV),   .name = "Conv", .attr_bytes = sizeof(conv_attr),
    .infer = infer, .grad = grad,   .flops = flops,
};

static status infer_data(const graph *g, const graph_node *n, graph_shape *ret_shape,
                         dtype *ret_dtype, error *err)
{
    conv_attr *a = complete(n);
    graph_shape y;
    TRY(rule_float(g, n, 0, err));
    TRY(rule_same_type(g, n, 0, 1, err));
    TRY(conv_shape(n, &a->x, rule_shape(g, n, 1), a, &y, err));
    TRY(rule_expect(g, n, 0, "the gradient", &y, err));
    ret_shape[0] = a->x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static double flops_data(const graph *g, const graph_node *n)
{
    return flops_of(g, n->in[0], rule_shape(g, n, 1));
}

const graph_op_info graph_op_conv_bwd_data = {
    OP_ROW(CONV_BWD_DATA), .name = "ConvBwdData", .attr_bytes = sizeof(conv_attr),
    .infer = infer_data,   .flops = flops_data,
};

static status infer_weights(const graph *g, const graph_node *n, graph_shape *ret_shape,
                            dtype *ret_dtype, error *err)
{
    conv_attr *a = complete(n);
    graph_shape y;
    TRY(rule_float(g, n, 0, err));
    TRY(rule_same_type(g, n, 0, 1, err));
    TRY(conv_shape(n, rule_shape(g, n, 0), &a->w, a, &y, err));
    TRY(rule_expect(g, n, 1, "the gradient", &y, err));
    ret_shape[0] = a->w;
    ret_dtype[0] = ret_dtype[1] = rule_type(g, n, 0);
    if (a->with_bias)
        ret_shape[1] = (graph_shape){.rank = 1, .dim = {a->w.dim[0]}};
    return OK;
}

static double flops_weights(const graph *g, const graph_node *n)
{
    return flops_of(g, n->in[1], &((const conv_attr *)n->attr)->w);
}

const graph_op_info graph_op_conv_bwd_weights = {
    OP_ROW(CONV_BWD_WEIGHTS), .name = "ConvBwdWeights", .attr_bytes = sizeof(conv_attr),
    .infer = infer_weights,   .flops = flops_weights,
};
