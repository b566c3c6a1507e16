/* RoiAlign and its gradient. */
#include "backend/cuda/kernels/roi_align.h"
#include "backend/cuda/plan/plan.h"
#include "backend/roi_of.h"
#include "common/base/alloc.h"

static status run_roi_align(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    const launch_fault fault = {.word = c->fault, .node = n->fault_node};
    launch_roi_align(c->stream, n->state, c->out[0], c->in[0], c->in[1], c->in[2], fault);
    return OK;
}

static status run_roi_align_bwd(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_roi_align_bwd(c->stream, n->state, c->out[0], c->in[0], c->in[1], c->in[2], c->in[3]);
    return OK;
}

status cuda_plan_roi_align(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    bool backward = n->node->op == OP_ROI_ALIGN_BWD;
    roi_pool *s = arena_alloc(p->arena, sizeof *s);
    *s = roi_of(n->node->attr, &cuda_in(n, backward)->shape, &cuda_in(n, 1 + backward)->shape);
    n->body = backward ? run_roi_align_bwd : run_roi_align;
    n->state = s;
    if (!backward)
        cuda_node_checks(n, 2, 0, s->images - 1);
    return OK;
}
