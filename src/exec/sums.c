/*
 * Gradients that stay on a device until a node of the tree of slots is whole. While the slots of a
 * node come in their order, at most one node of each level waits for its right sibling, as in a
 * binary counter: a slab a level is enough.
 */
#include "exec/state.h"

uint8_t sums_reserve(exec *e, uint8_t level)
{
    device_sums *s = &e->queued->sums;
    BUG_ON(level > COUNT_OF(s->at));
    while (s->n < level && !s->no_more) {
        s->no_more = e->ops->alloc(e->device, SPACE_DEVICE, e->memory.grad, "sums of gradients",
                                   &s->at[s->n], NULL) != OK;
        s->n += !s->no_more;
    }
    return level < s->n ? level : s->n;
}

void sums_destroy(exec *e)
{
    for (uint8_t i = 0; i < e->queued->sums.n; i++)
        e->ops->release(e->device, SPACE_DEVICE, e->queued->sums.at[i]);
}

bool sums_complete(const exec_slot *s)
{
    return s->slot + 1 == tree_node_end(s->sum, s->n_slots);
}

status sums_add(const exec *e, const exec_slot *s, int32_t part, error *err)
{
    int64_t begin = e->flat->parts[part].begin;
    size_t n = (size_t)flat_part_elements(e->flat, part);
    float *grad = (float *)e->slabs[SLAB_GRAD] + begin;
    tree_node node = tree_node_top((tree_node){.level = 0, .index = s->slot}, s->n_slots);
    while (node.level < s->sum.level) {
        float *kept = (float *)e->queued->sums.at[node.level] + begin;
        if (node.index % 2 == 0)
            return e->ops->queue->copy(e->device, QUEUE_COMPUTE, kept, grad, n * sizeof *grad, err);
        TRY(e->ops->optimizer->sum(e->device, QUEUE_COMPUTE, grad, kept, grad, n, err));
        node = tree_node_top(tree_node_parent(node), s->n_slots);
    }
    return OK;
}
