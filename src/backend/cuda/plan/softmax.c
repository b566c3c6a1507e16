/* Softmax, LogSoftmax and their gradients. */
#include "backend/cuda/kernels/softmax.h"
#include "backend/cuda/plan/plan.h"
#include "graph/axis_split.h"

static void run_softmax(const cuda_node *n, const cuda_call *c)
{
    launch_softmax(c->stream, n->state, c->out[0], c->in[0]);
}

static void run_softmax_bwd(const cuda_node *n, const cuda_call *c)
{
    launch_softmax_bwd(c->stream, n->state, c->out[0], c->in[0], c->in[1]);
}

status cuda_plan_softmax(cuda_node *n)
{
    graph_op op = n->node->op;
    const axis_attr *a = n->node->attr;
    axis_split at = axis_split_of(&cuda_in(n, 0)->shape, a->axis);
    bool backward = op == OP_SOFTMAX_BWD || op == OP_LOG_SOFTMAX_BWD;
    launch_softmax_call *s =
        cuda_node_runs(n, backward ? run_softmax_bwd : run_softmax, sizeof *s);
    *s = (launch_softmax_call){.outer = at.outer, .axis = at.n, .inner = at.inner};
    s->type = cuda_launch_type(cuda_in_storage(n, 0).type);
    s->log = op == OP_LOG_SOFTMAX || op == OP_LOG_SOFTMAX_BWD;
    n->takes_inplace = true;
    return OK;
}
