/* Softmax, LogSoftmax and their gradients. */
#include "backend/cuda/kernels/softmax.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"

static status run_softmax(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_softmax(c->stream, n->state, c->out[0], c->in[0]);
    return OK;
}

static status run_softmax_bwd(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_softmax_bwd(c->stream, n->state, c->out[0], c->in[0], c->in[1]);
    return OK;
}

status cuda_plan_softmax(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    graph_op op = n->node->op;
    const graph_shape *x = &cuda_in(n, 0)->shape;
    int axis = ((const axis_attr *)n->node->attr)->axis;
    launch_softmax_call *s = arena_alloc(p->arena, sizeof *s);
    *s = (launch_softmax_call){.outer = 1, .axis = 1, .inner = 1};
    s->type = cuda_launch_type(cuda_in_storage(n, 0).type);
    s->log = op == OP_LOG_SOFTMAX || op == OP_LOG_SOFTMAX_BWD;
    for (int i = 0; i < x->rank; i++)
        *(i < axis ? &s->outer : i == axis ? &s->axis : &s->inner) *= x->dim[i];
    n->body = op == OP_SOFTMAX || op == OP_LOG_SOFTMAX ? run_softmax : run_softmax_bwd;
    n->state = s;
    n->takes_inplace = true;
    return OK;
}
