/* GridSample and its gradients. */
#include "backend/cuda/kernels/grid_sample.h"
#include "backend/cuda/kernels/sort.h"
#include "backend/cuda/plan/plan.h"
#include "backend/grid_of.h"

enum { AT_ONCE = 1 << 22 }; /* terms of the gradient of x that are sorted: 24 bytes of scratch each */

typedef struct grid_state {
    grid_plane plane;
    int64_t at_once; /* images */
} grid_state;

static void run_grid_sample(const cuda_node *n, const cuda_call *c)
{
    const grid_state *s = n->state;
    launch_grid_sample(c->stream, &s->plane, c->out[0], c->in[0], c->in[1]);
}

static void run_grid_sample_bwd(const cuda_node *n, const cuda_call *c)
{
    const grid_state *s = n->state;
    const float *dy = c->in[0], *x = c->in[1], *grid = c->in[2];
    if (c->out[0])
        launch_grid_sample_spread(c->stream, &s->plane, s->at_once, c->out[0], dy, grid, c->scratch);
    if (c->out[1])
        launch_grid_sample_gradient(c->stream, &s->plane, c->out[1], dy, x, grid);
}

static grid_state *describe(const cuda_node *n, int x, int grid)
{
    grid_state *s = cuda_node_alloc(n, sizeof *s);
    s->plane = grid_of(n->node->attr, &cuda_in(n, x)->shape, &cuda_in(n, grid)->shape);
    int64_t terms = s->plane.positions * s->plane.per_position;
    int64_t larger = terms > s->plane.elements ? terms : s->plane.elements;
    int64_t fit = larger < AT_ONCE ? AT_ONCE / (larger > 0 ? larger : 1) : 1;
    s->at_once = fit < s->plane.n ? fit : s->plane.n;
    return s;
}

status cuda_plan_grid_sample(cuda_node *n)
{
    n->state = describe(n, 0, 1);
    n->launch = run_grid_sample;
    return OK;
}

status cuda_plan_grid_sample_bwd(cuda_node *n)
{
    grid_state *s = describe(n, 1, 2);
    const grid_plane *of = &s->plane;
    if (sort_bits(s->at_once * of->elements + 1) > 32 ||
        s->at_once * of->positions * of->per_position > UINT32_MAX)
        return FAIL(n->err, E_UNSUPPORTED,
                    "planes of more than 2^32 elements, or as many terms of them");
    n->state = s;
    n->launch = run_grid_sample_bwd;
    if (n->node->out[0] != GRAPH_NONE)
        n->scratch_bytes = launch_grid_sample_workspace_bytes(of, s->at_once);
    return OK;
}
