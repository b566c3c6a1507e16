/* Softmax, LogSoftmax and their gradients. */
#include "backend/cuda/kernels/softmax.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "graph/axis_split.h"

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
    const axis_attr *a = n->node->attr;
    axis_split at = axis_split_of(&cuda_in(n, 0)->shape, a->axis);
    launch_softmax_call *s = arena_alloc(p->arena, sizeof *s);
    *s = (launch_softmax_call){.outer = at.outer, .axis = at.n, .inner = at.inner};
    s->type = cuda_launch_type(cuda_in_storage(n, 0).type);
    s->log = op == OP_LOG_SOFTMAX || op == OP_LOG_SOFTMAX_BWD;
    n->body = op == OP_SOFTMAX || op == OP_LOG_SOFTMAX ? run_softmax : run_softmax_bwd;
    n->state = s;
    n->takes_inplace = true;
    return OK;
}
