/* x W^T + b and x W^T as Gemm, with the weight as PyTorch keeps it; x W too where x has more axes
 * than two. Other products read a matrix that is transposed as it lies. */
#include "onnx/fuse/fuse.h"

/* What has its last two axes exchanged to make v; GRAPH_NONE: nothing. */
static graph_val transposed(const fuser *f, graph_val v)
{
    const graph_node *t = fuse_maker(f, v, OP_TRANSPOSE);
    int32_t rank = fuse_value(f, v)->shape.rank;
    const transpose_attr *a = t ? t->attr : NULL;
    if (!t || rank < 2 || (a->reverse && rank > 2))
        return GRAPH_NONE;
    for (int32_t i = 0; i < rank && !a->reverse; i++)
        if (a->perm[i] != (i < rank - 2 ? i : 2 * rank - 3 - i))
            return GRAPH_NONE;
    return t->in[0];
}

/* A matrix of weights, or the transpose of one. */
static graph_val weight_of(const fuser *f, graph_val v, bool *ret_transposed)
{
    graph_val matrix = transposed(f, v), w = matrix == GRAPH_NONE ? v : matrix;
    const graph_value *value = fuse_value(f, w);
    *ret_transposed = w != v;
    return value->kind == VAL_PARAM && value->shape.rank == 2 ? w : GRAPH_NONE;
}

/* The product of something with rows and a matrix of weights. */
static bool take_product(const fuser *f, const graph_node *n, fusion *ret, bool *ret_transposed)
{
    ret->in[0] = n->in[0];
    ret->in[1] = weight_of(f, n->in[1], ret_transposed);
    const matmul_attr *attr = n->attr;
    return !attr->trans_a && !attr->trans_b && !attr->exact && ret->in[1] != GRAPH_NONE &&
           fuse_value(f, n->in[0])->shape.rank >= 2;
}

static bool with_bias(const fuser *f, const graph_node *n, fusion *ret)
{
    for (int32_t k = 0; k < 2; k++) {
        const graph_node *product = fuse_inner(f, n->in[k], OP_MATMUL);
        const graph_value *bias = fuse_value(f, n->in[1 - k]);
        bool transposed;
        if (!product || bias->kind != VAL_PARAM || bias->shape.rank != 1 ||
            !take_product(f, product, ret, &transposed))
            continue;
        const graph_shape *w = &fuse_value(f, ret->in[1])->shape;
        if (bias->shape.dim[0] != w->dim[transposed ? 0 : 1])
            return false;
        ret->op = OP_GEMM;
        ret->n_in = 3;
        ret->in[2] = n->in[1 - k];
        ret->as_rows = fuse_value(f, ret->in[0])->shape.rank != 2;
        ret->attr.gemm = (gemm_attr){GEMM_UNSCALED, .trans_b = transposed};
        return true;
    }
    return false;
}

bool fuse_linear(const fuser *f, const graph_node *n, fusion *ret)
{
    bool transposed;
    if (n->op == OP_ADD)
        return with_bias(f, n, ret);
    if (n->op != OP_MATMUL || !take_product(f, n, ret, &transposed))
        return false;
    ret->op = OP_GEMM;
    ret->n_in = 2;
    ret->as_rows = fuse_value(f, ret->in[0])->shape.rank != 2;
    ret->attr.gemm = (gemm_attr){GEMM_UNSCALED, .trans_b = transposed};
    return transposed || ret->as_rows;
}

bool fuse_matmul(const fuser *f, const graph_node *n, fusion *ret)
{
    if (n->op != OP_MATMUL)
        return false;
    const matmul_attr *own = n->attr;
    graph_val a = transposed(f, n->in[0]), b = transposed(f, n->in[1]);
    ret->op = OP_MATMUL;
    ret->n_in = 2;
    ret->in[0] = a == GRAPH_NONE ? n->in[0] : a;
    ret->in[1] = b == GRAPH_NONE ? n->in[1] : b;
    ret->attr.matmul = (matmul_attr){.trans_a = own->trans_a != (a != GRAPH_NONE),
                                     .trans_b = own->trans_b != (b != GRAPH_NONE),
                                     .exact = own->exact};
    return a != GRAPH_NONE || b != GRAPH_NONE;
}
