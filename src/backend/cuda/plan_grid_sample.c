/* GridSample and its gradients. */
#include "backend/cuda/device.h"
#include "backend/cuda/kernels/grid_sample.h"
#include "backend/cuda/program.h"
#include "backend/grid_of.h"
#include "common/base/alloc.h"

static status run_grid_sample(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_grid_sample(c->stream, n->state, c->out[0], c->in[0], c->in[1]);
    return OK;
}

static status run_grid_sample_bwd(const cuda_node *n, const cuda_call *c, error *err)
{
    const float *dy = c->in[0], *x = c->in[1], *grid = c->in[2];
    if (c->out[0]) {
        size_t bytes = n->program->bytes[n->node->out[0]];
        TRY_CUDA(cudaMemsetAsync(c->out[0], 0, bytes, c->stream), "clearing", err);
        launch_grid_sample_scatter(c->stream, n->state, c->out[0], dy, grid);
    }
    if (c->out[1])
        launch_grid_sample_slope(c->stream, n->state, c->out[1], dy, x, grid);
    return OK;
}

status cuda_plan_grid_sample(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    bool is_forward = n->node->op == OP_GRID_SAMPLE;
    const graph_value *x = cuda_in(n, is_forward ? 0 : 1), *grid = cuda_in(n, is_forward ? 1 : 2);
    grid_plane *s = arena_alloc(p->arena, sizeof *s);
    *s = grid_of(n->node->attr, &x->shape, &grid->shape);
    n->body = is_forward ? run_grid_sample : run_grid_sample_bwd;
    n->state = s;
    return OK;
}
