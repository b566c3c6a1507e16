/*
 * Gelu written out: x/2 (1 + erf(x / sqrt 2)), and x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))),
 * in whatever order the factors stand.
 */
#include "onnx/fuse/fuse.h"

/* 1 + f(...): the node of f. */
static const graph_node *one_plus(const fuser *f, graph_val v, graph_op op)
{
    double one;
    graph_val other;
    const graph_node *add = fuse_inner(f, v, OP_ADD);
    if (!add || !fuse_constant(f, add, &one, &other) || one != 1.0)
        return NULL;
    return fuse_inner(f, other, op);
}

static bool is_scaled(const fuser *f, graph_val v, graph_val x, double wanted)
{
    graph_val factor;
    double scale;
    return fuse_factors(f, v, &factor, 1, &scale) == 1 && factor == x &&
           fuse_is_near(scale, wanted);
}

static bool is_cube(const fuser *f, graph_val v, graph_val x)
{
    graph_val factors[3];
    double scale;
    int32_t n = fuse_factors(f, v, factors, 3, &scale);
    for (int32_t i = 0; i < n; i++)
        if (factors[i] != x)
            return false;
    return n == 3 && fuse_is_near(scale, 0.044715);
}

/* sqrt(2/pi) (x + 0.044715 x^3) */
static bool is_tanh_argument(const fuser *f, graph_val v, graph_val x)
{
    graph_val sum;
    double scale;
    if (fuse_factors(f, v, &sum, 1, &scale) != 1 || !fuse_is_near(scale, 0.7978845608))
        return false;
    const graph_node *add = fuse_inner(f, sum, OP_ADD);
    for (int32_t k = 0; add && k < 2; k++)
        if (add->in[k] == x && is_cube(f, add->in[1 - k], x))
            return true;
    return false;
}

bool fuse_gelu(const fuser *f, const graph_node *n, fusion *ret)
{
    graph_val factors[2];
    double scale;
    if ((n->op != OP_MUL && n->op != OP_DIV) ||
        fuse_factors(f, n->out[0], factors, 2, &scale) != 2 || scale != 0.5)
        return false;
    for (int32_t k = 0; k < 2; k++) {
        graph_val x = factors[1 - k];
        const graph_node *erf = one_plus(f, factors[k], OP_ERF);
        const graph_node *tanh = one_plus(f, factors[k], OP_TANH);
        bool is_erf = erf && is_scaled(f, erf->in[0], x, 0.7071067812);
        bool is_tanh = tanh && is_tanh_argument(f, tanh->in[0], x);
        if ((!is_erf && !is_tanh) || !fuse_same_shape(f, x, n->out[0]))
            continue;
        *ret = (fusion){.matched = true, .op = OP_GELU, .n_in = 1, .in = {x}};
        ret->attr.gelu = (gelu_attr){.tanh = is_tanh};
        return true;
    }
    return false;
}
