/* LRN and its gradient. */
#include "backend/cuda/kernels/lrn.h"
#include "backend/cuda/plan/plan.h"
#include "graph/axis_split.h"

static void run_lrn(const cuda_node *n, const cuda_call *c)
{
    launch_lrn(c->stream, n->state, c->out[0], c->out[1], c->in[0]);
}

static void run_lrn_bwd(const cuda_node *n, const cuda_call *c)
{
    launch_lrn_bwd(c->stream, n->state, c->out[0], c->in[0], c->in[1], c->in[2], c->in[3]);
}

status cuda_plan_lrn(cuda_node *n)
{
    lrn_form f = lrn_form_of(n->node->attr, &cuda_in(n, 0)->shape);
    launch_lrn_call *s = cuda_node_runs(n, n->node->op == OP_LRN ? run_lrn : run_lrn_bwd, sizeof *s);
    *s = (launch_lrn_call){.batch = f.x.outer,
                           .channels = f.x.n,
                           .plane = f.x.inner,
                           .before = f.before,
                           .behind = f.behind,
                           .alpha = f.alpha,
                           .beta = f.beta,
                           .bias = f.bias};
    return OK;
}
