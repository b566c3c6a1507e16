/*
 * LayerNormalization as opsets below 17 write it out:
 *   d = x - mean(x);  y = d / sqrt(mean(d d) + epsilon) * scale + bias
 */
#include "onnx/fuse/fuse.h"

/* The mean over the last axes, kept as ones: the first of them. */
static bool is_mean(const fuser *f, const graph_node *n, int32_t *ret_axis)
{
    const reduce_attr *a = n->attr;
    int32_t rank = fuse_value(f, n->in[0])->shape.rank, first = rank;
    unsigned seen = 0;
    for (int32_t i = 0; i < a->n_axes; i++) {
        int32_t axis = a->axes[i] < 0 ? a->axes[i] + rank : a->axes[i];
        seen |= 1u << axis;
        first = axis < first ? axis : first;
    }
    *ret_axis = first;
    return !a->drop_dims && a->n_axes > 0 && seen == (1u << rank) - (1u << first);
}

/* sqrt(mean(d d) + epsilon) */
static bool is_deviation(const fuser *f, graph_val v, graph_val d, int32_t axis,
                         double *ret_epsilon)
{
    graph_val mean;
    int32_t own;
    const graph_node *root = fuse_inner(f, v, OP_SQRT);
    const graph_node *sum = root ? fuse_inner(f, root->in[0], OP_ADD) : NULL;
    if (!sum || !fuse_constant(f, sum, ret_epsilon, &mean))
        return false;
    const graph_node *average = fuse_inner(f, mean, OP_REDUCE_MEAN);
    const graph_node *square = average ? fuse_inner(f, average->in[0], OP_MUL) : NULL;
    return square && square->in[0] == d && square->in[1] == d && is_mean(f, average, &own) &&
           own == axis;
}

static bool is_per_feature(const fuser *f, graph_val v, graph_val x, int32_t axis)
{
    const graph_shape *s = &fuse_value(f, v)->shape, *whole = &fuse_value(f, x)->shape;
    if (s->rank != whole->rank - axis)
        return false;
    for (int32_t i = 0; i < s->rank; i++)
        if (s->dim[i] != whole->dim[axis + i])
            return false;
    return true;
}

/* d / deviation; the input that was normalised. */
static bool take_normalised(const fuser *f, const graph_node *div, fusion *ret)
{
    double epsilon;
    int32_t axis;
    const graph_node *sub = fuse_maker(f, div->in[0], OP_SUB);
    const graph_node *mean = sub ? fuse_inner(f, sub->in[1], OP_REDUCE_MEAN) : NULL;
    if (!mean || mean->in[0] != sub->in[0] || !is_mean(f, mean, &axis) ||
        f->readers[div->in[0]] != 3 || !is_deviation(f, div->in[1], div->in[0], axis, &epsilon))
        return false;
    ret->in[0] = sub->in[0];
    ret->attr.norm = (row_norm_attr){.axis = axis, .epsilon = (float)epsilon};
    return true;
}

bool fuse_layer_norm(const fuser *f, const graph_node *n, fusion *ret)
{
    for (int32_t k = 0; n->op == OP_ADD && k < 2; k++) {
        const graph_node *scaled = fuse_inner(f, n->in[k], OP_MUL);
        for (int32_t i = 0; scaled && i < 2; i++) {
            const graph_node *div = fuse_inner(f, scaled->in[i], OP_DIV);
            if (!div || !take_normalised(f, div, ret))
                continue;
            int32_t axis = ret->attr.norm.axis;
            ret->op = OP_LAYER_NORMALIZATION;
            ret->n_in = 3;
            ret->in[1] = scaled->in[1 - i];
            ret->in[2] = n->in[1 - k];
            return is_per_feature(f, ret->in[1], ret->in[0], axis) &&
                   is_per_feature(f, ret->in[2], ret->in[0], axis) &&
                   fuse_same_shape(f, ret->in[0], n->out[0]);
        }
    }
    return false;
}
