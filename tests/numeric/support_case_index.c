/* Indices of a case: into the axes that the operator names, from either end. */
#include "numeric/support_cases.h"
#include "numeric/support_reference_ops.h"

/* The axes of operand 0 that indices name: `depth` from `first` on. */
static void named_axes(const op_case *c, int32_t *ret_first, int64_t *ret_depth)
{
    const graph_shape *by = &c->in[1].shape;
    const index_attr *a = c->attr;
    *ret_depth = 1;
    switch (c->op) {
    case OP_GATHER:
        *ret_first = ((const gather_attr *)c->attr)->axis;
        break;
    case OP_GATHER_ND:
    case OP_SCATTER_ND:
        *ret_first = a ? a->batch_dims : 0;
        *ret_depth = by->dim[by->rank - 1];
        return;
    default:
        *ret_first = a ? a->axis : 0;
        break;
    }
    *ret_first += *ret_first < 0 ? c->in[0].shape.rank : 0;
}

/* What is put somewhere without a reduction must go to places of its own. */
static bool is_distinct(const op_case *c)
{
    bool puts = c->op == OP_SCATTER_ELEMENTS || c->op == OP_SCATTER_ND;
    return puts && (!c->attr || ((const index_attr *)c->attr)->reduction == SCATTER_SET);
}

static int64_t distinct(const op_case *c, int64_t i, int32_t first, int64_t depth)
{
    graph_shape named = {.rank = (int32_t)depth};
    int64_t at[GRAPH_RANK], rows = 1;
    for (int32_t k = 0; k < depth; k++) {
        named.dim[k] = c->in[0].shape.dim[first + k];
        rows *= named.dim[k];
    }
    if (c->op == OP_SCATTER_ELEMENTS) {
        ref_unravel(&c->in[1].shape, i, at);
        int64_t along = at[first];
        at[first] = 0;
        return (along + ref_ravel(&c->in[1].shape, at)) % rows;
    }
    ref_unravel(&named, (i / depth * 7919 + 3) % rows, at);
    return at[i % depth];
}

int64_t case_index(const op_case *c, const rng *r, int64_t i)
{
    int32_t first;
    int64_t depth;
    named_axes(c, &first, &depth);
    int64_t size = c->in[0].shape.dim[first + i % depth];
    int64_t at = is_distinct(c) ? distinct(c, i, first, depth)
                                : (int64_t)rng_below(r, (uint64_t)(2 * i), (uint64_t)size);
    return rng_u32(r, (uint64_t)(2 * i + 1)) & 1 ? at - size : at;
}
