/*
 * Scaled dot-product attention: softmax(q k^T scale + mask) v, with dropout of the probabilities;
 * the scale before or after the product, on either operand. A mask that is known and lets every
 * position look at those up to itself is the operator's own. So is a row that may look at nothing
 * being zero, be it written as a product with the mask or as Where(IsNaN(p), 0, p).
 */
#include "common/base/detmath.h"
#include "onnx/fuse/fuse.h"

#include <string.h>

static const double hidden_score = -1e30; /* scores from here on down count as minus infinity */

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
    ret->transposes[1] = in_order < rank;
    ret->transposed[1] = swap;
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

/* `masked`: the scores that a mask was added to, which may broadcast no farther than they do. */
static bool take_product(const fuser *f, graph_val scores, graph_val masked, graph_val v,
                         double scale, fusion *ret)
{
    const graph_node *product = fuse_inner(f, scores, OP_MATMUL);
    if (!product || !is_plain(product) || !fuse_same_shape(f, scores, masked))
        return false;
    graph_val q = unscaled(f, product->in[0], &scale), kt = unscaled(f, product->in[1], &scale);
    if (!fits(f, q, kt, v) || scale <= 0.0 ||
        fuse_value(f, q)->shape.rank != fuse_value(f, scores)->shape.rank)
        return false;
    ret->op = OP_ATTENTION;
    ret->in[0] = q;
    take_keys(f, kt, ret);
    ret->in[2] = v;
    const graph_shape *s = &fuse_value(f, q)->shape;
    double off = scale * det_sqrt((double)s->dim[s->rank - 1]) - 1.0;
    bool is_own = off < 1e-6 && off > -1e-6; /* written out, it is rounded */
    ret->attr.attention.scale = is_own ? 0.0f : (float)scale;
    if (s->rank == 3)
        ret->attr.attention.q_heads = ret->attr.attention.kv_heads = 1;
    return true;
}

static void take_no_mask(fusion *ret)
{
    ret->in[3] = GRAPH_NONE;
    ret->negates[3] = ret->adds[3] = ret->attr.attention.causal = false;
    ret->n_in = 4;
}

/* Whether a constant of conditions (true: `shows`) or of numbers to add hides element i; -1:
 * neither. */
static int hides(const graph_value *mask, bool shows, int64_t i)
{
    if (mask->dtype == DT_BOOL)
        return ((const bool *)mask->data)[i] != shows;
    float x = ((const float *)mask->data)[i];
    return x == 0.0f ? 0 : (double)x <= hidden_score ? 1 : -1;
}

/* Hides the keys behind each query, and no others. */
static bool is_causal(const fuser *f, graph_val v, bool shows, const graph_shape *scores)
{
    const graph_value *mask = fuse_value(f, v);
    int64_t n = scores->dim[scores->rank - 1], rank = mask->shape.rank;
    if (mask->kind != VAL_CONST || (mask->dtype != DT_BOOL && mask->dtype != DT_F32) || rank < 2 ||
        mask->shape.dim[rank - 1] != n || mask->shape.dim[rank - 2] != n ||
        scores->dim[scores->rank - 2] != n || graph_shape_elements(&mask->shape) != n * n)
        return false;
    for (int64_t i = 0; i < n * n; i++)
        if (hides(mask, shows, i) != (i % n > i / n))
            return false;
    return true;
}

/* A mask of rank 3 would be a head's; it has one axis more in Attention. `shows`: what a condition
 * that holds means. */
static bool take_mask(const fuser *f, graph_val mask, bool shows, graph_val scores, fusion *ret)
{
    const graph_value *m = fuse_value(f, mask);
    const graph_shape *s = &fuse_value(f, scores)->shape;
    if (m->shape.rank > s->rank || (s->rank == 3 && m->shape.rank > 2))
        return false;
    if (is_causal(f, mask, shows, s)) {
        ret->attr.attention.causal = true;
        return true;
    }
    if (ret->in[3] != GRAPH_NONE) {
        ret->adds[3] = true;
        ret->addend[3] = mask;
        return true;
    }
    const graph_node *not = shows ? NULL : fuse_maker(f, mask, OP_NOT);
    ret->in[3] = not ? not ->in[0] : mask;
    ret->negates[3] = !shows && !not ;
    return true;
}

/* A product that masks are added to, at most so many, one after the other; `scores`: all of it. */
static bool take_sum(const fuser *f, graph_val sum, graph_val scores, graph_val v, int32_t masks,
                     fusion *ret)
{
    double scale = 1.0;
    graph_val bare = unscaled(f, sum, &scale);
    take_no_mask(ret);
    if (take_product(f, bare, scores, v, scale, ret))
        return true;
    const graph_node *add = masks > 0 ? fuse_inner(f, sum, OP_ADD) : NULL;
    for (int32_t k = 0; add && k < 2; k++)
        if (take_sum(f, add->in[k], scores, v, masks - 1, ret) &&
            take_mask(f, add->in[1 - k], true, scores, ret))
            return true;
    return false;
}

/* Scores without a mask, with one, or with two: of T5 one is learned, one hides. */
static bool take_scores(const fuser *f, graph_val scores, graph_val v, fusion *ret)
{
    return take_sum(f, scores, scores, v, 2, ret);
}

/* Scores where a condition holds, and minus infinity (or what stands for it) elsewhere; or the
 * other way round. */
static bool take_chosen(const fuser *f, graph_val scores, graph_val v, fusion *ret)
{
    const graph_node *where = fuse_inner(f, scores, OP_WHERE);
    for (int32_t k = 1; where && k <= 2; k++) {
        double hidden, scale = 1.0;
        if (!fuse_number(f, where->in[k], &hidden) || hidden > hidden_score)
            continue;
        graph_val bare = unscaled(f, where->in[3 - k], &scale);
        take_no_mask(ret);
        return take_product(f, bare, scores, v, scale, ret) &&
               take_mask(f, where->in[0], k == 2, scores, ret);
    }
    return false;
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

/* Of probabilities that are multiplied with the mask, so that a row that may look at nothing is
 * zero: what they are before, and the mask. */
static graph_val without_factor(const fuser *f, graph_val v, graph_val *ret_mask)
{
    const graph_node *product = fuse_inner(f, v, OP_MUL);
    *ret_mask = GRAPH_NONE;
    for (int32_t k = 0; product && k < 2; k++) {
        const graph_node *factor = fuse_maker(f, product->in[k], OP_CAST);
        if (!factor || fuse_value(f, factor->in[0])->dtype != DT_BOOL)
            continue;
        *ret_mask = factor->in[0];
        return product->in[1 - k];
    }
    return v;
}

/* The softmax whose NaN, of rows that may look at nothing, become zero. NULL: there is no such. */
static const graph_node *guarded_softmax(const fuser *f, graph_val v)
{
    double zero;
    const graph_node *where = fuse_inner(f, v, OP_WHERE);
    const graph_node *test = where ? fuse_inner(f, where->in[0], OP_IS_NAN) : NULL;
    bool guards = test && test->in[0] == where->in[2] && f->readers[where->in[2]] == 2 &&
                  fuse_number(f, where->in[1], &zero) && zero == 0.0;
    return guards ? fuse_maker(f, where->in[2], OP_SOFTMAX) : NULL;
}

bool fuse_attention(const fuser *f, const graph_node *n, fusion *ret)
{
    graph_val factor;
    if (n->op != OP_MATMUL || !is_plain(n))
        return false;
    const graph_node *dropout = fuse_inner(f, n->in[0], OP_DROPOUT);
    graph_val p = without_factor(f, dropout ? dropout->in[0] : n->in[0], &factor);
    const graph_node *bare = fuse_inner(f, p, OP_SOFTMAX);
    const graph_node *softmax = bare ? bare : guarded_softmax(f, p);
    if (!softmax || !is_last_axis(f, softmax) ||
        (!take_scores(f, softmax->in[0], n->in[1], ret) &&
         !take_chosen(f, softmax->in[0], n->in[1], ret)) ||
        (factor != GRAPH_NONE && (factor != ret->in[3] || ret->negates[3])))
        return false;
    if (dropout)
        take_dropout(dropout, ret);
    return true;
}
