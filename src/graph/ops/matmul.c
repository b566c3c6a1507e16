/*
 * MatMul with numpy's rules: leading axes broadcast, a vector on the left is a row, on the right a
 * column, and the axis added for it vanishes from the result. The transposes ONNX lacks swap the
 * last two axes; vectors have none to swap.
 */
#include "graph/matmul.h"
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

/* ONNX has none of them. */
static const attr_field fields[] = {
    ATTR_OURS(matmul_attr, trans_a, ATTR_BOOL, 0),
    ATTR_OURS(matmul_attr, trans_b, ATTR_BOOL, 0),
    ATTR_OURS(matmul_attr, exact, ATTR_BOOL, 0),
    ATTR_MORE,
};

static int64_t last_axis(const graph_shape *s, int32_t from_end)
{
    return s->dim[s->rank - from_end];
}

/* The matmul with both added axes still in it; false if the shapes do not fit. */
static bool matmul(const graph_shape *a, const graph_shape *b, const matmul_attr *attr,
                   graph_shape *ret)
{
    if (last_axis(a, attr->trans_a ? 2 : 1) != last_axis(b, attr->trans_b ? 1 : 2))
        return false;
    graph_shape batch_a = *a, batch_b = *b, y;
    batch_a.rank -= 2;
    batch_b.rank -= 2;
    if (!rule_broadcast(&batch_a, &batch_b, &y))
        return false;
    y.dim[y.rank++] = last_axis(a, attr->trans_a ? 1 : 2);
    y.dim[y.rank++] = last_axis(b, attr->trans_b ? 2 : 1);
    *ret = y;
    return true;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const matmul_attr *attr = n->attr;
    const graph_shape *a = rule_shape(g, n, 0), *b = rule_shape(g, n, 1);
    TRY(rule_matmul(g, n, 0, 1, &ret_dtype[0], err));
    if (a->rank < 1 || b->rank < 1)
        return rule_fail(n, err, "the inputs %s and %s must have at least one axis", SHAPE(a),
                         SHAPE(b));
    if ((a->rank == 1 && attr->trans_a) || (b->rank == 1 && attr->trans_b))
        return rule_fail(n, err, "of the inputs %s and %s a vector cannot be transposed", SHAPE(a),
                         SHAPE(b));
    graph_shape matrix_a = matmul_matrix(a, true), matrix_b = matmul_matrix(b, false), full;
    if (!matmul(&matrix_a, &matrix_b, attr, &full))
        return rule_fail(n, err, "the inputs %s%s and %s%s do not multiply", SHAPE(a),
                         attr->trans_a ? " transposed" : "", SHAPE(b),
                         attr->trans_b ? " transposed" : "");
    int32_t rows = full.rank - 2;
    graph_shape y = {.rank = rows};
    for (int32_t i = 0; i < rows; i++)
        y.dim[i] = full.dim[i];
    if (a->rank != 1)
        y.dim[y.rank++] = full.dim[rows];
    if (b->rank != 1)
        y.dim[y.rank++] = full.dim[rows + 1];
    ret_shape[0] = y;
    return OK;
}

static graph_shape flat_rows(const graph_shape *s)
{
    graph_shape leading = *s;
    leading.rank--;
    return (graph_shape){.rank = 2, .dim = {graph_shape_elements(&leading), last_axis(s, 1)}};
}

/* A weight matrix under many rows: one Gemm over all of them instead of a batch and a sum. */
static status weight_grad(graph *g, graph_val a, graph_val dy, bool trans_b, graph_val *ret,
                          error *err)
{
    graph_shape rows_a = emit_shape_of(g, a), rows_dy = emit_shape_of(g, dy);
    rows_a = flat_rows(&rows_a);
    rows_dy = flat_rows(&rows_dy);
    TRY(emit_reshape(g, a, &rows_a, &a, err));
    TRY(emit_reshape(g, dy, &rows_dy, &dy, err));
    gemm_attr t = {GEMM_UNSCALED, .trans_a = true};
    return trans_b ? emit_2(g, OP_GEMM, dy, a, &t, ret, err)
                   : emit_2(g, OP_GEMM, a, dy, &t, ret, err);
}

/* Multiplies, sums over the broadcast batch, and drops the axis a vector was given. */
static status batched_grad(graph *g, graph_val left, graph_val right, matmul_attr t,
                           const graph_shape *matrix, const graph_shape *shape, graph_val *ret,
                           error *err)
{
    graph_val d;
    TRY(emit_2(g, OP_MATMUL, left, right, &t, &d, err));
    TRY(emit_sum_to(g, d, matrix, &d, err));
    return emit_reshape(g, d, shape, ret, err);
}

static status grad(const graph_gradient *d, error *err)
{
    matmul_attr f = *(const matmul_attr *)d->n.attr;
    graph_shape shape_a = emit_shape_of(d->g, d->n.in[0]), shape_b = emit_shape_of(d->g, d->n.in[1]);
    graph_shape matrix_a = matmul_matrix(&shape_a, true), matrix_b = matmul_matrix(&shape_b, false),
                full;
    graph_val a, b, dy;
    BUG_ON(!matmul(&matrix_a, &matrix_b, &f, &full));
    TRY(emit_factor(d->g, d->dy[0], d->n.in[0], &dy, err));
    TRY(emit_reshape(d->g, dy, &full, &dy, err));
    if (d->wants[1]) {
        TRY(emit_factor_again(d->g, d->n.in[0], d->wants[0], &a, err));
        TRY(emit_reshape(d->g, a, &matrix_a, &a, err));
        matmul_attr t = {.trans_a = f.trans_b || !f.trans_a, .trans_b = f.trans_b && f.trans_a,
                         .exact = f.exact};
        if (shape_b.rank == 2 && matrix_a.rank > 2 && !f.trans_a && !f.exact)
            TRY(weight_grad(d->g, a, dy, f.trans_b, &d->dx[1], err));
        else
            TRY(batched_grad(d->g, f.trans_b ? dy : a, f.trans_b ? a : dy, t, &matrix_b, &shape_b,
                             &d->dx[1], err));
    }
    if (d->wants[0]) {
        matmul_attr t = {.trans_a = f.trans_a && f.trans_b, .trans_b = f.trans_a || !f.trans_b,
                         .exact = f.exact};
        TRY(emit_factor_again(d->g, d->n.in[1], d->wants[1], &b, err));
        TRY(emit_reshape(d->g, b, &matrix_b, &b, err));
        TRY(batched_grad(d->g, f.trans_a ? b : dy, f.trans_a ? dy : b, t, &matrix_a, &shape_a,
                         &d->dx[0], err));
    }
    return OK;
}

static double flops(const graph *g, const graph_node *n)
{
    const matmul_attr *attr = n->attr;
    const graph_shape *a = rule_shape(g, n, 0);
    return 2.0 * (double)graph_shape_elements(&graph_value_at(g, n->out[0])->shape) *
           (double)last_axis(a, attr->trans_a ? 2 : 1);
}

GRAPH_OP(MATMUL, matmul, "MatMul", ATTRIBUTES(matmul_attr, fields), .infer = infer, .grad = grad,
         .flops = flops);
