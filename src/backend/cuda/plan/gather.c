/* Gather, GatherElements, GatherND. Any element type. */
#include "backend/cuda/kernels/gather.h"
#include "backend/cuda/plan/plan.h"

static void run_gather(const cuda_node *n, const cuda_call *c)
{
    launch_gather_call call = *(const launch_gather_call *)n->state;
    call.fault.word = c->fault;
    launch_gather(c->stream, &call, c->out[0], c->in[0], c->in[1]);
}

status cuda_plan_gather(cuda_node *n)
{
    launch_gather_call *s = cuda_node_runs(n, run_gather, sizeof *s);
    s->at = index_positions_of(n->program->g, n->node);
    s->element = (int64_t)dtype_bytes(cuda_in_storage(n, 0).type);
    s->fault.node = n->fault_node;
    cuda_node_checks_indices(n, 1, &s->at);
    return OK;
}
