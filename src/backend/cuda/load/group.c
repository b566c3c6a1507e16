/* A group of nodes that one kernel computes, while it is put together (load/fuse.h). */
#include "backend/cuda/load/fuse.h"

void cuda_group_add(backend_program *p, cuda_group *group, int32_t node)
{
    p->group[node] = group;
    group->last = node;
    group->n_nodes++;
}

cuda_group *cuda_group_new(backend_program *p, int32_t node)
{
    cuda_group *group = arena_alloc(p->arena, sizeof *group);
    *group = (cuda_group){.first = node,
                          .spine = GRAPH_NONE,
                          .relu_of = GRAPH_NONE,
                          .gradients = GRAPH_NONE,
                          .accuracy = GRAPH_NONE,
                          .shares = {GRAPH_NONE, GRAPH_NONE},
                          .held = GRAPH_NONE};
    cuda_group_add(p, group, node);
    return group;
}
