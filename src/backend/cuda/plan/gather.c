/* Gather, GatherElements, GatherND. Any element type. */
#include "backend/cuda/kernels/gather.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"

static status run_gather(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_gather_call call = *(const launch_gather_call *)n->state;
    call.fault.word = c->fault;
    launch_gather(c->stream, &call, c->out[0], c->in[0], c->in[1]);
    return OK;
}

status cuda_plan_gather(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    launch_gather_call *s = arena_alloc(p->arena, sizeof *s);
    s->at = index_positions_of(p->g, n->node);
    s->element = (int64_t)dtype_bytes(cuda_in_storage(n, 0).type);
    s->fault.node = n->fault_node;
    cuda_node_checks_indices(n, 1, &s->at);
    n->body = run_gather;
    n->state = s;
    return OK;
}
