/* Functions of single elements and along an axis, in ONNX. */
#include "onnx/write/ops.h"

/* 0.5 x (1 + erf(x / sqrt(2))) */
static const char *gelu_factor_erf(maker *m, const graph_node *n, const char *x)
{
    const char *root = maker_const_float(m, maker_inside(m, n, "sqrt2"), 1.4142135623730951f);
    const char *unit = maker_call(m, "Div", maker_inside(m, n, "unit"), x, root, NULL);
    return maker_call(m, "Erf", maker_inside(m, n, "erf"), unit, NULL, NULL);
}

/* 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
static const char *gelu_factor_tanh(maker *m, const graph_node *n, const char *x)
{
    const char *share = maker_const_float(m, maker_inside(m, n, "share"), 0.044715f);
    const char *scale = maker_const_float(m, maker_inside(m, n, "scale"), 0.7978845608028654f);
    const char *square = maker_call(m, "Mul", maker_inside(m, n, "square"), x, x, NULL);
    const char *cube = maker_call(m, "Mul", maker_inside(m, n, "cube"), square, x, NULL);
    const char *part = maker_call(m, "Mul", maker_inside(m, n, "part"), cube, share, NULL);
    const char *sum = maker_call(m, "Add", maker_inside(m, n, "sum"), x, part, NULL);
    const char *inner = maker_call(m, "Mul", maker_inside(m, n, "inner"), sum, scale, NULL);
    return maker_call(m, "Tanh", maker_inside(m, n, "tanh"), inner, NULL, NULL);
}

/* an operator of its own from opset 20 on */
status write_gelu(maker *m, const graph_node *n, error *err)
{
    (void)err;
    const gelu_attr *a = n->attr;
    const char *x = maker_in(m, n, 0);
    const char *factor = a->tanh ? gelu_factor_tanh(m, n, x) : gelu_factor_erf(m, n, x);
    const char *one = maker_const_float(m, maker_inside(m, n, "one"), 1.0f);
    const char *half = maker_const_float(m, maker_inside(m, n, "half"), 0.5f);
    const char *more = maker_call(m, "Add", maker_inside(m, n, "more"), factor, one, NULL);
    const char *twice = maker_call(m, "Mul", maker_inside(m, n, "twice"), x, more, NULL);
    maker_call(m, "Mul", maker_out(m, n, 0), twice, half, NULL);
    return OK;
}

/* x sigmoid(alpha x); an operator of its own from opset 24 on */
status write_swish(maker *m, const graph_node *n, error *err)
{
    (void)err;
    const unary_attr *a = n->attr;
    const char *x = maker_in(m, n, 0), *scaled = x;
    if (a->alpha != 1.0f)
        scaled = maker_call(m, "Mul", maker_inside(m, n, "scaled"), x,
                            maker_const_float(m, maker_inside(m, n, "alpha"), a->alpha), NULL);
    const char *gate = maker_call(m, "Sigmoid", maker_inside(m, n, "sigmoid"), scaled, NULL, NULL);
    maker_call(m, "Mul", maker_out(m, n, 0), x, gate, NULL);
    return OK;
}

status write_cast(maker *m, const graph_node *n, error *err)
{
    (void)err;
    const cast_attr *a = n->attr;
    maker_int(m, write_same(m, n, 1), "to", maker_onnx_type(a->to));
    return OK;
}

/* Axes are an attribute in this opset, but for the sum an input. */
status write_reduce(maker *m, const graph_node *n, error *err)
{
    (void)err;
    const reduce_attr *a = n->attr;
    const char *in[2] = {maker_in(m, n, 0)}, *out = maker_out(m, n, 0);
    int64_t axes[GRAPH_RANK];
    size_t n_axes = (size_t)a->n_axes;
    for (size_t i = 0; i < n_axes; i++)
        axes[i] = a->axes[i];
    bool by_input = n->op == OP_REDUCE_SUM;
    if (by_input)
        in[1] = maker_const_ints(m, maker_inside(m, n, "axes"), axes, n_axes);
    Onnx__NodeProto *node =
        maker_node(m, graph_op_of(n->op)->name, in, by_input ? 2 : 1, &out, 1);
    if (!by_input)
        maker_ints(m, node, "axes", axes, n_axes);
    maker_int(m, node, "keepdims", !a->drop_dims);
    return OK;
}
