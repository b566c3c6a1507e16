/*
 * Gemm: y = alpha op(a) op(b) + beta c. Each gradient of a matrix is one Gemm whose flags are set
 * so that the result lies as the matrix does; the gradient of c is the sum that undoes its
 * broadcast.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static const attr_field fields[] = {
    ATTR_FIELD(gemm_attr, alpha, "alpha", ATTR_FLOAT, 1),
    ATTR_FIELD(gemm_attr, beta, "beta", ATTR_FLOAT, 1),
    ATTR_FIELD(gemm_attr, trans_a, "transA", ATTR_BOOL, 0),
    ATTR_FIELD(gemm_attr, trans_b, "transB", ATTR_BOOL, 0),
    {0},
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const gemm_attr *attr = n->attr;
    const graph_shape *a = rule_shape(g, n, 0), *b = rule_shape(g, n, 1);
    TRY(rule_matmul(g, n, 0, 1, &ret_dtype[0], err));
    if (a->rank != 2 || b->rank != 2)
        return rule_fail(n, err, "the inputs %s and %s must be matrices", SHAPE(a), SHAPE(b));
    if (a->dim[attr->trans_a ? 0 : 1] != b->dim[attr->trans_b ? 1 : 0])
        return rule_fail(n, err, "the inputs %s%s and %s%s do not multiply", SHAPE(a),
                         attr->trans_a ? " transposed" : "", SHAPE(b),
                         attr->trans_b ? " transposed" : "");
    graph_shape y = {.rank = 2,
                     .dim = {a->dim[attr->trans_a ? 1 : 0], b->dim[attr->trans_b ? 0 : 1]}};
    if (rule_has(n, 2)) {
        if (rule_type(g, n, 2) != ret_dtype[0])
            return rule_fail(n, err,
                             "the bias is %s but the product is %s; they must be of one type",
                             dtype_name(rule_type(g, n, 2)), dtype_name(ret_dtype[0]));
        const graph_shape *c = rule_shape(g, n, 2);
        if (!rule_broadcasts_to(c, &y))
            return rule_fail(n, err, "the bias %s does not broadcast to the product %s", SHAPE(c),
                             SHAPE(&y));
    }
    ret_shape[0] = y;
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    gemm_attr f = *(const gemm_attr *)d->n.attr;
    graph_val a, b, dy;
    TRY(emit_factor(d->g, d->dy[0], d->n.in[0], &dy, err));
    if (d->wants[1]) {
        TRY(emit_factor_again(d->g, d->n.in[0], d->wants[0], &a, err));
        gemm_attr t = {.alpha = f.alpha,
                       .beta = 1,
                       .trans_a = f.trans_b || !f.trans_a,
                       .trans_b = f.trans_b && f.trans_a};
        TRY(f.trans_b ? emit_2(d->g, OP_GEMM, dy, a, &t, &d->dx[1], err)
                      : emit_2(d->g, OP_GEMM, a, dy, &t, &d->dx[1], err));
    }
    if (d->wants[2]) {
        TRY(emit_to_input(d, 2, d->dy[0], err));
        TRY(emit_scale(d->g, d->dx[2], f.beta, &d->dx[2], err));
    }
    if (d->wants[0]) {
        TRY(emit_factor_again(d->g, d->n.in[1], d->wants[1], &b, err));
        gemm_attr t = {.alpha = f.alpha,
                       .beta = 1,
                       .trans_a = f.trans_a && f.trans_b,
                       .trans_b = f.trans_a || !f.trans_b};
        TRY(f.trans_a ? emit_2(d->g, OP_GEMM, b, dy, &t, &d->dx[0], err)
                      : emit_2(d->g, OP_GEMM, dy, b, &t, &d->dx[0], err));
    }
    return OK;
}

static double flops(const graph *g, const graph_node *n)
{
    const gemm_attr *attr = n->attr;
    const graph_shape *a = rule_shape(g, n, 0);
    return 2.0 * (double)graph_shape_elements(&graph_value_at(g, n->out[0])->shape) *
           (double)a->dim[attr->trans_a ? 0 : 1];
}

GRAPH_OP(GEMM, gemm, "Gemm", ATTRIBUTES(gemm_attr, fields), .infer = infer, .grad = grad,
         .flops = flops);
