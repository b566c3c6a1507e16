/* The mean of every channel's plane, kept as a plane of one: GlobalAveragePool. */
#include "onnx/fuse/fuse.h"

bool fuse_average_pool(const fuser *f, const graph_node *n, fusion *ret)
{
    if (n->op != OP_REDUCE_MEAN)
        return false;
    const reduce_attr *a = n->attr;
    int32_t rank = fuse_value(f, n->in[0])->shape.rank;
    unsigned seen = 0;
    for (int32_t i = 0; i < a->n_axes; i++)
        seen |= 1u << (a->axes[i] < 0 ? a->axes[i] + rank : a->axes[i]);
    if (a->drop_dims || (rank != 4 && rank != 5) || seen != (1u << rank) - (1u << 2))
        return false;
    *ret = (fusion){.matched = true, .op = OP_GLOBAL_AVERAGE_POOL, .n_in = 1, .in = {n->in[0]}};
    return true;
}
