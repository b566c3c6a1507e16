#include "backend/reduce_space.h"

#include "graph/attrs.h"

_Static_assert((int)REDUCE_RANK == (int)GRAPH_RANK, "axes of a tensor");

/* Which axes of x are reduced. SumTo: those its target lacks or has with size 1. */
static void mark_reduced(const graph_node *n, const graph_shape *x, const graph_shape *y, bool *ret)
{
    if (n->op == OP_SUM_TO) {
        for (int i = 0; i < x->rank; i++) {
            int k = i - (x->rank - y->rank);
            ret[i] = k < 0 || y->dim[k] != x->dim[i];
        }
        return;
    }
    const reduce_attr *a = n->attr;
    for (int i = 0; i < x->rank; i++)
        ret[i] = a->n_axes == 0 && !a->none;
    for (int i = 0; i < a->n_axes; i++)
        ret[a->axes[i]] = true;
}

/* Merges neighbours of one kind; axes of size 1 go with their neighbour. */
static int collapse(const graph_shape *x, const bool *reduced, int64_t *ret_dim, bool *ret_reduced)
{
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        if (x->dim[i] == 1)
            continue;
        if (rank > 0 && ret_reduced[rank - 1] == reduced[i]) {
            ret_dim[rank - 1] *= x->dim[i];
            continue;
        }
        ret_dim[rank] = x->dim[i];
        ret_reduced[rank++] = reduced[i];
    }
    if (rank == 0) {
        ret_dim[0] = 1;
        ret_reduced[0] = true;
        rank = 1;
    }
    return rank;
}

static void add_axis(reduce_axes *a, int64_t dim, int64_t stride)
{
    a->dim[a->rank] = dim;
    a->stride[a->rank++] = stride;
    a->count *= dim;
}

void reduce_space_of(const graph_node *n, const graph_shape *x, const graph_shape *y,
                     reduce_space *ret)
{
    bool marked[GRAPH_RANK], reduced[GRAPH_RANK];
    int64_t dim[GRAPH_RANK], strides[GRAPH_RANK], stride = 1;
    mark_reduced(n, x, y, marked);
    int rank = collapse(x, marked, dim, reduced);
    *ret = (reduce_space){.kept.count = 1, .reduced.count = 1};
    ret->last = dim[rank - 1];
    ret->last_reduced = reduced[rank - 1];
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dim[i];
    }
    for (int i = 0; i < rank - 1; i++)
        add_axis(reduced[i] ? &ret->reduced : &ret->kept, dim[i], strides[i]);
}
