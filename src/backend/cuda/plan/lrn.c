/* LRN and its gradient. */
#include "backend/cuda/kernels/lrn.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "graph/axis_split.h"

static status run_lrn(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_lrn(c->stream, n->state, c->out[0], c->out[1], c->in[0]);
    return OK;
}

static status run_lrn_bwd(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_lrn_bwd(c->stream, n->state, c->out[0], c->in[0], c->in[1], c->in[2], c->in[3]);
    return OK;
}

status cuda_plan_lrn(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    const lrn_attr *a = n->node->attr;
    axis_split at = axis_split_of(&cuda_in(n, 0)->shape, 1);
    launch_lrn_call *s = arena_alloc(p->arena, sizeof *s);
    *s = (launch_lrn_call){.batch = at.outer, .channels = at.n, .plane = at.inner};
    s->before = (a->size - 1) / 2;
    s->behind = a->size - 1 - s->before;
    s->alpha = a->alpha / (float)a->size;
    s->beta = a->beta;
    s->bias = a->bias;
    n->body = n->node->op == OP_LRN ? run_lrn : run_lrn_bwd;
    n->state = s;
    return OK;
}
