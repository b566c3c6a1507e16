/*
 * Scaled dot-product attention: softmax(q k^T scale + mask) v, with dropout of the probabilities;
 * the scale before or after the product, on either operand.
 */
#include "onnx/fuse/fuse.h"

#include <string.h>

/* Constants taken off a product of one value with numbers. */
static graph_val unscaled(const fuser *f, graph_val v, double *scale)
{
    graph_val factor;
    double own;
    if (fuse_factors(f, v, &factor, 1, &own) != 1)
        return v;
    *scale *= own;
    return factor;
}

static bool is_last_axis(const fuser *f, const graph_node *softmax)
{
    int32_t rank = fuse_value(f, softmax->in[0])->shape.rank;
    int32_t axis = ((const axis_attr *)softmax->attr)->axis;
    return axis == rank - 1 || axis == -1;
}

/* The keys: what k^T is the transpose of. */
static void take_keys(const fuser *f, graph_val transposed, fusion *ret)
{
    const graph_node *t = fuse_inner(f, transposed, OP_TRANSPOSE);
    int32_t rank = fuse_value(f, transposed)->shape.rank, in_order = 0;
    transpose_attr swap = {.reverse = false};
    const transpose_attr *own = t ? t->attr : NULL;
    for (int32_t i = 0; i < rank; i++)
        swap.perm[i] = !own ? i : own->reverse ? rank - 1 - i : own->perm[i];
    int32_t last = swap.perm[rank - 1];
    swap.perm[rank - 1] = swap.perm[rank - 2];
    swap.perm[rank - 2] = last;
    while (in_order < rank && swap.perm[in_order] == in_order)
        in_order++;
    ret->in[1] = t ? t->in[0] : transposed;
    ret->turns[1] = in_order < rank;
    ret->turned[1] = swap;
}

static bool is_plain(const graph_node *matmul)
{
    const matmul_attr *a = matmul->attr;
    return !a->trans_a && !a->trans_b;
}

/* Nothing broadcasts: q [.., Sq, D], kt [.., D, Sk], v [.., Sk, Dv]. */
static bool fits(const fuser *f, graph_val q, graph_val kt, graph_val v)
{
    const graph_shape *a = &fuse_value(f, q)->shape, *b = &fuse_value(f, kt)->shape;
    const graph_shape *c = &fuse_value(f, v)->shape;
    bool same = (a->rank == 3 || a->rank == 4) && b->rank == a->rank && c->rank == a->rank;
    for (int32_t i = 0; same && i < a->rank - 2; i++)
        same = a->dim[i] == b->dim[i] && a->dim[i] == c->dim[i];
    return same;
}

static bool take_product(const fuser *f, graph_val scores, graph_val v, double scale, fusion *ret)
{
    const graph_node *product = fuse_inner(f, scores, OP_MATMUL);
    if (!product || !is_plain(product))
        return false;
    graph_val q = unscaled(f, product->in[0], &scale), kt = unscaled(f, product->in[1], &scale);
    if (!fits(f, q, kt, v) || scale <= 0.0)
        return false;
    ret->op = OP_ATTENTION;
    ret->in[0] = q;
    take_keys(f, kt, ret);
    ret->in[2] = v;
    ret->attr.attention.scale = (float)scale;
    if (fuse_value(f, q)->shape.rank == 3)
        ret->attr.attention.q_heads = ret->attr.attention.kv_heads = 1;
    return true;
}

/* Scores, with or without a mask that is added. A mask of rank 3 would be a head's; it has one axis
 * more in Attention. */
static bool take_scores(const fuser *f, graph_val scores, graph_val v, fusion *ret)
{
    double scale = 1.0;
    graph_val bare = unscaled(f, scores, &scale);
    if (f->readers[bare] == 1 && take_product(f, bare, v, scale, ret)) {
        ret->n_in = 3;
        ret->in[3] = GRAPH_NONE;
        return true;
    }
    const graph_node *add = fuse_inner(f, scores, OP_ADD);
    for (int32_t k = 0; add && k < 2; k++) {
        const graph_value *mask = fuse_value(f, add->in[1 - k]);
        scale = 1.0;
        bare = unscaled(f, add->in[k], &scale);
        if (mask->kind == VAL_PARAM || mask->shape.rank > fuse_value(f, scores)->shape.rank ||
            (fuse_value(f, scores)->shape.rank == 3 && mask->shape.rank > 2) ||
            !take_product(f, bare, v, scale, ret))
            continue;
        ret->n_in = 4;
        ret->in[3] = add->in[1 - k];
        return true;
    }
    return false;
}

/* Scores where a condition holds, and minus infinity (or what stands for it) elsewhere. */
static bool take_chosen(const fuser *f, graph_val scores, graph_val v, fusion *ret)
{
    double hidden, scale = 1.0;
    const graph_node *where = fuse_inner(f, scores, OP_WHERE);
    if (!where || !fuse_number(f, where->in[2], &hidden) || hidden > -1e30 ||
        fuse_value(f, where->in[0])->shape.rank > fuse_value(f, scores)->shape.rank ||
        (fuse_value(f, scores)->shape.rank == 3 && fuse_value(f, where->in[0])->shape.rank > 2))
        return false;
    graph_val bare = unscaled(f, where->in[1], &scale);
    if (!take_product(f, bare, v, scale, ret))
        return false;
    ret->n_in = 4;
    ret->in[3] = where->in[0];
    return true;
}

static void take_dropout(const graph_node *dropout, fusion *ret)
{
    const dropout_attr *d = dropout->attr;
    ret->attr.attention.ratio = d->ratio;
    ret->attr.attention.seed = d->seed;
    ret->attr.attention.stream = d->stream;
    ret->in[4] = dropout->in[1];
    ret->n_in = 5;
}

bool fuse_attention(const fuser *f, const graph_node *n, fusion *ret)
{
    if (n->op != OP_MATMUL || !is_plain(n))
        return false;
    const graph_node *dropout = fuse_inner(f, n->in[0], OP_DROPOUT);
    const graph_node *softmax = fuse_inner(f, dropout ? dropout->in[0] : n->in[0], OP_SOFTMAX);
    if (!softmax || !is_last_axis(f, softmax) ||
        (!take_scores(f, softmax->in[0], n->in[1], ret) &&
         !take_chosen(f, softmax->in[0], n->in[1], ret)))
        return false;
    if (dropout)
        take_dropout(dropout, ret);
    return true;
}
