/*
 * Conv over 1 to 3 spatial axes, with groups, and the two halves of its gradient. The backward ops
 * carry the shape they produce, because it does not follow from the shapes they read.
 */
#include "graph/ops/conv_shape.h"
#include "graph/ops/emit.h"

static const attr_field fields[] = {CONV_FIELDS, {0}};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *w = rule_shape(g, n, 1);
    TRY(conv_type(g, n, &ret_dtype[0], err));
    TRY(conv_shape(n, rule_shape(g, n, 0), w, (conv_attr *)n->attr, ret_shape, err));
    if (rule_has(n, 2)) {
        TRY(rule_type_is(g, n, 2, ret_dtype[0], err));
        TRY(rule_expect(g, n, 2, "the bias", &(graph_shape){.rank = 1, .dim = {w->dim[0]}}, err));
    }
    return OK;
}

static double flops(const graph *g, const graph_node *n)
{
    return conv_flops(g, n->out[0], rule_shape(g, n, 1));
}

static status grad(const graph_gradient *d, error *err)
{
    conv_attr a = *(const conv_attr *)d->n.attr;
    a.x = emit_shape_of(d->g, d->n.in[0]);
    a.w = emit_shape_of(d->g, d->n.in[1]);
    a.with_bias = d->wants[2];
    graph_val dy;
    TRY(emit_factor(d->g, d->dy[0], d->n.in[0], &dy, err));
    if (d->wants[1]) {
        graph_val out[2];
        const graph_val in[] = {d->n.in[0], dy};
        TRY(graph_add(d->g, OP_CONV_BWD_WEIGHTS, NULL, in, 2, &a, out, err));
        d->dx[1] = out[0];
        if (d->wants[2])
            d->dx[2] = out[1];
    } else if (d->wants[2]) {
        TRY(conv_bias_grad(d->g, d->dy[0], &d->dx[2], err));
    }
    if (d->wants[0])
        TRY(emit_2(d->g, OP_CONV_BWD_DATA, dy, d->n.in[1], &a, &d->dx[0], err));
    return OK;
}

static status infer_data(const graph *g, const graph_node *n, graph_shape *ret_shape,
                         dtype *ret_dtype, error *err)
{
    conv_attr *a = (conv_attr *)n->attr;
    graph_shape y;
    TRY(conv_type(g, n, &ret_dtype[0], err));
    TRY(conv_shape(n, &a->x, rule_shape(g, n, 1), a, &y, err));
    TRY(rule_expect(g, n, 0, "the gradient", &y, err));
    ret_shape[0] = a->x;
    return OK;
}

static double flops_data(const graph *g, const graph_node *n)
{
    return conv_flops(g, n->in[0], rule_shape(g, n, 1));
}

static status infer_weights(const graph *g, const graph_node *n, graph_shape *ret_shape,
                            dtype *ret_dtype, error *err)
{
    conv_attr *a = (conv_attr *)n->attr;
    graph_shape y;
    TRY(rule_matmul(g, n, 0, 1, &ret_dtype[0], err));
    TRY(conv_shape(n, rule_shape(g, n, 0), &a->w, a, &y, err));
    TRY(rule_expect(g, n, 1, "the gradient", &y, err));
    ret_shape[0] = a->w;
    ret_dtype[1] = ret_dtype[0];
    if (a->with_bias)
        ret_shape[1] = (graph_shape){.rank = 1, .dim = {a->w.dim[0]}};
    return OK;
}

static double flops_weights(const graph *g, const graph_node *n)
{
    return conv_flops(g, n->in[1], &((const conv_attr *)n->attr)->w);
}

GRAPH_OP(CONV, conv, "Conv", ATTRIBUTES(conv_attr, fields), .infer = infer, .grad = grad,
         .flops = flops);
GRAPH_OP(CONV_BWD_DATA, conv_bwd_data, "ConvBwdData", ATTRIBUTES(conv_attr, fields),
         .infer = infer_data, .flops = flops_data);
GRAPH_OP(CONV_BWD_WEIGHTS, conv_bwd_weights, "ConvBwdWeights", ATTRIBUTES(conv_attr, fields),
         .infer = infer_weights, .flops = flops_weights);
