/* RoiAlign and its gradient. */
#include "backend/cuda/kernels/roi_align.h"
#include "backend/cuda/plan/plan.h"
#include "backend/roi_of.h"

static void run_roi_align(const cuda_node *n, const cuda_call *c)
{
    const launch_fault fault = {.word = c->fault, .node = n->fault_node};
    launch_roi_align(c->stream, n->state, c->out[0], c->in[0], c->in[1], c->in[2], fault);
}

static void run_roi_align_bwd(const cuda_node *n, const cuda_call *c)
{
    launch_roi_align_bwd(c->stream, n->state, c->out[0], c->in[0], c->in[1], c->in[2], c->in[3]);
}

status cuda_plan_roi_align(cuda_node *n)
{
    bool backward = n->node->op == OP_ROI_ALIGN_BWD;
    roi_pool *s = cuda_node_runs(n, backward ? run_roi_align_bwd : run_roi_align, sizeof *s);
    *s = roi_of(n->node->attr, &cuda_in(n, backward)->shape, &cuda_in(n, 1 + backward)->shape);
    if (!backward)
        cuda_node_checks(n, 2, 0, s->images - 1);
    return OK;
}
