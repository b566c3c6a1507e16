/* MaxPool, AveragePool, GlobalAveragePool, LpPool and their gradients. */
#include "backend/cuda/kernels/pool.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "graph/window.h"

#include <inttypes.h>

enum {
    MOST_REACH = 1 << 30,
    NARROW_TAPS = 256,
    WINDOWS_OF_BLOCK = 8, /* at least */
};

/* Planes, windows and what they reach over are counted in 32 bits. */
static status check_sizes(const window *w, error *err)
{
    int64_t in = 1, out = 1, taps = 1;
    for (int i = 0; i < SPATIAL; i++) {
        int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        in *= w->in[i];
        out *= w->out[i];
        bool fits = w->in[i] + w->begin[i] + w->end[i] + reach <= MOST_REACH &&
                    w->stride[i] <= MOST_REACH && in <= INT32_MAX && out <= INT32_MAX &&
                    w->kernel[i] <= INT32_MAX / taps;
        if (!fits)
            return FAIL(err, E_UNSUPPORTED,
                        "spatial axis %d of %" PRId64 " under a window of %" PRId64
                        " is too large for 32 bits",
                        i - (SPATIAL - w->axes), w->in[i], reach);
        taps *= w->kernel[i];
    }
    if (graph_shape_elements(&w->y) / WINDOWS_OF_BLOCK >= INT32_MAX)
        return FAIL(err, E_UNSUPPORTED, "%" PRId64 " windows are too many for one kernel",
                    graph_shape_elements(&w->y));
    return OK;
}

/* `a` may be NULL, of GlobalAveragePool: it has none. */
static launch_pool *describe(backend_program *p, const pool_attr *a, const window *w)
{
    launch_pool *t = arena_alloc(p->arena, sizeof *t);
    *t = (launch_pool){.planes = w->x.dim[0] * w->x.dim[1],
                       .channels = 1,
                       .counts_padding = a && a->count_include_pad,
                       .column_major = a && a->column_major,
                       .p = a ? (int32_t)a->p : 0,
                       .wide_taps = window_volume(w->kernel) > NARROW_TAPS};
    for (int i = 0; i < SPATIAL; i++) {
        t->in[i] = (int32_t)w->in[i];
        t->out[i] = (int32_t)w->out[i];
        t->kernel[i] = (int32_t)w->kernel[i];
        t->stride[i] = (int32_t)w->stride[i];
        t->dilation[i] = (int32_t)w->dilation[i];
        t->begin[i] = (int32_t)w->begin[i];
        t->padded[i] = (int32_t)(w->in[i] + w->end[i]);
    }
    return t;
}

/* Why what MaxPool remembers of its maxima cannot be told from this value; OK if it can. */
static status check_workspace(const backend_program *p, const graph_value *taps, error *err)
{
    if (taps->def == GRAPH_NONE || p->nodes[taps->def].node->op != OP_MAX_POOL)
        return FAIL(err, E_UNSUPPORTED, "its workspace '%s' is not a MaxPool's second output",
                    taps->name);
    return OK;
}

static void run_max(const cuda_node *n, const cuda_call *c)
{
    launch_max_pool(c->stream, n->state, c->out[0], c->out[1], c->out[2], c->in[0]);
}

static void run_max_bwd(const cuda_node *n, const cuda_call *c)
{
    launch_max_pool_bwd(c->stream, n->state, c->out[0], c->in[0], c->in[1]);
}

static void run_average(const cuda_node *n, const cuda_call *c)
{
    launch_average_pool(c->stream, n->state, c->out[0], c->in[0]);
}

static void run_average_bwd(const cuda_node *n, const cuda_call *c)
{
    launch_average_pool_bwd(c->stream, n->state, c->out[0], c->in[0]);
}

static void run_lp(const cuda_node *n, const cuda_call *c)
{
    launch_lp_pool(c->stream, n->state, c->out[0], c->in[0]);
}

static void run_lp_bwd(const cuda_node *n, const cuda_call *c)
{
    launch_lp_pool_bwd(c->stream, n->state, c->out[0], c->in[0], c->in[1], c->in[2]);
}

static const cuda_launch launch_of[OP_COUNT] = {
    [OP_MAX_POOL] = run_max,
    [OP_MAX_POOL_BWD] = run_max_bwd,
    [OP_AVERAGE_POOL] = run_average,
    [OP_GLOBAL_AVERAGE_POOL] = run_average,
    [OP_AVERAGE_POOL_BWD] = run_average_bwd,
    [OP_LP_POOL] = run_lp,
    [OP_LP_POOL_BWD] = run_lp_bwd,
};

status cuda_plan_pool(cuda_node *n)
{
    graph_op op = n->node->op;
    window w = window_of(n->program->g, n->node);
    TRY(check_sizes(&w, n->err));
    if (op == OP_MAX_POOL_BWD)
        TRY(check_workspace(n->program, cuda_in(n, 1), n->err));
    launch_pool *t = describe(n->program, n->node->attr, &w);
    t->type = cuda_launch_type(cuda_in_storage(n, 0).type);
    if (cuda_in_storage(n, 0).channels_last || cuda_out_storage(n, 0).channels_last) {
        t->channels = w.x.dim[1];
        t->planes = w.x.dim[0];
    }
    if (op == OP_MAX_POOL && cuda_out(n, 1) && t->wide_taps)
        n->program->bytes[n->node->out[1]] *= sizeof(int32_t);
    n->launch = launch_of[op];
    n->state = t;
    return OK;
}

status cuda_plan_lp_pool(cuda_node *n)
{
    return cuda_plan_pool(n);
}
