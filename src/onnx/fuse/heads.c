/*
 * Attention whose heads lie side by side, [batch, positions, heads * numbers], are taken apart
 * before and put together behind it: the operator reads and writes them as they lie. Queries, keys
 * and values that are cut from one value are read from there.
 */
#include "onnx/fuse/fuse.h"

enum { OPERANDS = 3 };

/* Whether axes 1 and 2 of four are exchanged, and nothing else. */
static bool swaps_middle(const transpose_attr *t)
{
    return !t->reverse && t->perm[0] == 0 && t->perm[1] == 2 && t->perm[2] == 1 && t->perm[3] == 3;
}

static bool is_swap(const fuser *f, const graph_node *transpose)
{
    return transpose && fuse_value(f, transpose->in[0])->shape.rank == 4 &&
           swaps_middle(transpose->attr);
}

/* Of [B,H,S,D]: the [B,S,H*D] it was taken apart from. GRAPH_NONE: it was not. */
static graph_val side_by_side(const fuser *f, const fusion *heads, int32_t i)
{
    graph_val v = heads->in[i];
    if (heads->transposes[i] && !swaps_middle(&heads->transposed[i]))
        return GRAPH_NONE;
    if (!heads->transposes[i]) {
        const graph_node *t = fuse_maker(f, v, OP_TRANSPOSE);
        if (!is_swap(f, t))
            return GRAPH_NONE;
        v = t->in[0];
    }
    const graph_node *apart = fuse_maker(f, v, OP_RESHAPE);
    if (!apart || fuse_value(f, apart->in[0])->shape.rank != 3)
        return GRAPH_NONE;
    const graph_shape *x = &fuse_value(f, apart->in[0])->shape, *s = &fuse_value(f, v)->shape;
    bool fits = s->rank == 4 && x->dim[0] == s->dim[0] && x->dim[1] == s->dim[1];
    return fits ? apart->in[0] : GRAPH_NONE;
}

/* The value of which the operands are the thirds of its last axis, one after the other. */
static graph_val packed(const fuser *f, const graph_val operand[OPERANDS])
{
    graph_val whole = GRAPH_NONE;
    for (int32_t i = 0; i < OPERANDS; i++) {
        const graph_node *cut = fuse_maker(f, operand[i], OP_SLICE);
        if (!cut || (i > 0 && cut->in[0] != whole))
            return GRAPH_NONE;
        whole = cut->in[0];
        const slice_attr *a = cut->attr;
        const graph_shape *x = &fuse_value(f, whole)->shape, *y = &fuse_value(f, operand[i])->shape;
        int64_t width = y->dim[2];
        if (x->rank != 3 || OPERANDS * width != x->dim[2] || x->dim[0] != y->dim[0] ||
            x->dim[1] != y->dim[1] || a->begin[2] != i * width || a->step[0] != 1 ||
            a->step[1] != 1 || a->step[2] != 1)
            return GRAPH_NONE;
    }
    return whole;
}

/* softmax(...) v as [B,H,S,D] behind a Transpose to [B,S,H,D] and a Reshape to [B,S,H*D] */
bool fuse_heads(const fuser *f, const graph_node *n, fusion *ret)
{
    if (n->op != OP_RESHAPE || fuse_value(f, n->out[0])->shape.rank != 3)
        return false;
    const graph_node *together = fuse_inner(f, n->in[0], OP_TRANSPOSE);
    const graph_node *inner =
        is_swap(f, together) ? fuse_inner(f, together->in[0], OP_MATMUL) : NULL;
    const graph_shape *y = &fuse_value(f, n->out[0])->shape, *s = &fuse_value(f, n->in[0])->shape;
    fusion heads = {.matched = true};
    graph_val operand[OPERANDS];
    if (!inner || y->dim[0] != s->dim[0] || y->dim[1] != s->dim[1] ||
        !fuse_attention(f, inner, &heads))
        return false;
    for (int32_t i = 0; i < OPERANDS; i++) {
        operand[i] = side_by_side(f, &heads, i);
        if (operand[i] == GRAPH_NONE)
            return false;
    }
    graph_val whole = packed(f, operand);
    for (int32_t i = 0; i < OPERANDS; i++) {
        heads.in[i] = whole == GRAPH_NONE ? operand[i] : i == 0 ? whole : GRAPH_NONE;
        heads.transposes[i] = false;
    }
    heads.attr.attention.q_heads = heads.attr.attention.kv_heads = s->dim[2];
    *ret = heads;
    return true;
}
