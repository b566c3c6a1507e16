/* Products and norms, in ONNX. */
#include "onnx/write/ops.h"

/* x / sqrt(mean of x^2 + epsilon) * scale; an operator of its own from opset 23 on */
status write_rms_norm(maker *m, const graph_node *n, error *err)
{
    (void)err;
    const row_norm_attr *a = n->attr;
    const char *x = maker_in(m, n, 0);
    const char *square = maker_call(m, "Mul", maker_inside(m, n, "square"), x, x, NULL);
    const char *mean = maker_inside(m, n, "mean");
    Onnx__NodeProto *node = maker_node(m, "ReduceMean", &square, 1, &mean, 1);
    int64_t axes[GRAPH_RANK];
    int32_t rank = maker_shape(m, n->in[0])->rank;
    for (int32_t i = a->axis; i < rank; i++)
        axes[i - a->axis] = i;
    maker_ints(m, node, "axes", axes, (size_t)(rank - a->axis));
    const char *epsilon = maker_const_float(m, maker_inside(m, n, "epsilon"), a->epsilon);
    const char *sum = maker_call(m, "Add", maker_inside(m, n, "sum"), mean, epsilon, NULL);
    const char *root = maker_call(m, "Sqrt", maker_inside(m, n, "root"), sum, NULL, NULL);
    const char *unit = maker_call(m, "Div", maker_inside(m, n, "unit"), x, root, NULL);
    maker_call(m, "Mul", maker_out(m, n, 0), unit, maker_in(m, n, 1), NULL);
    return OK;
}

/* Input i with its last two axes exchanged. */
static const char *transposed(maker *m, const graph_node *n, int32_t i, const char *what)
{
    int64_t perm[GRAPH_RANK];
    int32_t rank = maker_shape(m, n->in[i])->rank;
    for (int32_t axis = 0; axis < rank; axis++)
        perm[axis] = axis;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    const char *in = maker_in(m, n, i), *out = maker_inside(m, n, what);
    maker_ints(m, maker_node(m, "Transpose", &in, 1, &out, 1), "perm", perm, (size_t)rank);
    return out;
}

status write_matmul(maker *m, const graph_node *n, error *err)
{
    (void)err;
    const matmul_attr *attr = n->attr;
    const char *a = attr->trans_a ? transposed(m, n, 0, "a") : maker_in(m, n, 0);
    const char *b = attr->trans_b ? transposed(m, n, 1, "b") : maker_in(m, n, 1);
    maker_call(m, "MatMul", maker_out(m, n, 0), a, b, NULL);
    return OK;
}
