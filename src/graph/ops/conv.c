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

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    conv_attr a = *(const conv_attr *)n.attr;
    a.x = emit_shape_of(g, n.in[0]);
    a.w = emit_shape_of(g, n.in[1]);
    a.with_bias = want_din[2];
    graph_val dy;
    TRY(emit_factor(g, dout[0], n.in[0], &dy, err));
    if (want_din[1]) {
        graph_val out[2];
        TRY(graph_add(g, OP_CONV_BWD_WEIGHTS, NULL, (const graph_val[]){n.in[0], dy}, 2, &a, out,
                      err));
        ret_din[1] = out[0];
        if (want_din[2])
            ret_din[2] = out[1];
    } else if (want_din[2]) {
        TRY(conv_bias_grad(g, dout[0], &ret_din[2], err));
    }
    if (want_din[0])
        TRY(emit_2(g, OP_CONV_BWD_DATA, dy, n.in[1], &a, &ret_din[0], err));
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
