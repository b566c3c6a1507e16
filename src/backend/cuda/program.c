#include "backend/cuda/program.h"

#include "backend/cuda/device.h"

const graph_value *cuda_in(const cuda_node *n, int i)
{
    if (i >= n->node->n_in || n->node->in[i] == GRAPH_NONE)
        return NULL;
    return graph_value_at(n->program->g, n->node->in[i]);
}

const graph_value *cuda_out(const cuda_node *n, int i)
{
    if (i >= n->node->n_out || n->node->out[i] == GRAPH_NONE)
        return NULL;
    return graph_value_at(n->program->g, n->node->out[i]);
}

status cuda_node_run(void *state, void *const *addresses, void *workspace, error *err)
{
    cuda_node *n = state;
    cuda_call *c = &n->call;
    c->scratch = workspace;
    c->stream = n->program->backend->queues[QUEUE_COMPUTE];
    for (int i = 0; i < n->node->n_in; i++)
        c->in[i] = n->node->in[i] == GRAPH_NONE ? NULL : addresses[n->node->in[i]];
    for (int i = 0; i < n->node->n_out; i++)
        c->out[i] = n->node->out[i] == GRAPH_NONE ? NULL : addresses[n->node->out[i]];
    TRY(n->body(n, c, err));
    return device_check(cudaGetLastError(), "the GPU refuses the kernel", err);
}
