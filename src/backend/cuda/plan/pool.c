/* MaxPool, AveragePool, GlobalAveragePool, LpPool and their gradients. */
#include "backend/cuda/kernels/pool.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"

#include <inttypes.h>

enum {
    MOST_REACH = 1 << 30,
    NARROW_TAPS = 256,
    WINDOWS_OF_BLOCK = 8, /* at least */
};

/* One axis of image and window, as plane axis i of the launch. */
static void place_axis(launch_pool *t, int i, int64_t in, int64_t out, const pool_attr *a, int from,
                       int spatial)
{
    t->in[i] = (int32_t)in;
    t->out[i] = (int32_t)out;
    t->kernel[i] = (int32_t)a->kernel[from];
    t->stride[i] = (int32_t)a->strides[from];
    t->dilation[i] = (int32_t)a->dilations[from];
    t->begin[i] = (int32_t)a->pads[from];
    t->padded[i] = (int32_t)(in + a->pads[spatial + from]);
}

/* GlobalAveragePool has no attributes: its window is the plane. */
static pool_attr whole_plane(const graph_shape *x)
{
    pool_attr a = {0};
    for (int i = 2; i < x->rank; i++) {
        a.kernel[i - 2] = x->dim[i];
        a.strides[i - 2] = a.dilations[i - 2] = 1;
    }
    return a;
}

/* Planes, windows and what they reach over are counted in 32 bits. */
static status check_sizes(const pool_attr *a, const graph_shape *x, const graph_shape *y,
                          error *err)
{
    int64_t in = 1, out = 1, taps = 1;
    for (int i = 2; i < x->rank; i++) {
        int64_t reach = (a->kernel[i - 2] - 1) * a->dilations[i - 2] + 1;
        in *= x->dim[i];
        out *= y->dim[i];
        bool fits = x->dim[i] + a->pads[i - 2] + a->pads[x->rank - 4 + i] + reach <= MOST_REACH &&
                    a->strides[i - 2] <= MOST_REACH && in <= INT32_MAX && out <= INT32_MAX &&
                    a->kernel[i - 2] <= INT32_MAX / taps;
        if (!fits)
            return FAIL(err, E_UNSUPPORTED,
                        "spatial axis %d of %" PRId64 " under a window of %" PRId64
                        " is too large for 32 bits",
                        i - 2, x->dim[i], reach);
        taps *= a->kernel[i - 2];
    }
    if (graph_shape_elements(y) / WINDOWS_OF_BLOCK >= INT32_MAX)
        return FAIL(err, E_UNSUPPORTED, "%" PRId64 " windows are too many for one kernel",
                    graph_shape_elements(y));
    return OK;
}

static int64_t taps_of(const launch_pool *t)
{
    return (int64_t)t->kernel[0] * t->kernel[1] * t->kernel[2];
}

static launch_pool *describe(backend_program *p, const pool_attr *a, const graph_shape *x,
                             const graph_shape *y)
{
    const pool_attr one = {.kernel = {1}, .strides = {1}, .dilations = {1}};
    int spatial = x->rank - 2, lead = POOL_AXES - spatial;
    launch_pool *t = arena_alloc(p->arena, sizeof *t);
    t->planes = x->dim[0] * x->dim[1];
    t->channels = 1;
    t->counts_padding = a->count_include_pad;
    t->column_major = a->column_major;
    t->p = (int32_t)a->p;
    for (int i = 0; i < lead; i++)
        place_axis(t, i, 1, 1, &one, 0, 1);
    for (int i = 0; i < spatial; i++)
        place_axis(t, lead + i, x->dim[2 + i], y->dim[2 + i], a, i, spatial);
    t->wide_taps = taps_of(t) > NARROW_TAPS;
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

static status run_max(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_max_pool(c->stream, n->state, c->out[0], c->out[1], c->out[2], c->in[0]);
    return OK;
}

static status run_max_bwd(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_max_pool_bwd(c->stream, n->state, c->out[0], c->in[0], c->in[1]);
    return OK;
}

static status run_average(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_average_pool(c->stream, n->state, c->out[0], c->in[0]);
    return OK;
}

static status run_average_bwd(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_average_pool_bwd(c->stream, n->state, c->out[0], c->in[0]);
    return OK;
}

static status run_lp(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_lp_pool(c->stream, n->state, c->out[0], c->in[0]);
    return OK;
}

static status run_lp_bwd(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_lp_pool_bwd(c->stream, n->state, c->out[0], c->in[0], c->in[1], c->in[2]);
    return OK;
}

static const cuda_body body_of[OP_COUNT] = {
    [OP_MAX_POOL] = run_max,
    [OP_MAX_POOL_BWD] = run_max_bwd,
    [OP_AVERAGE_POOL] = run_average,
    [OP_GLOBAL_AVERAGE_POOL] = run_average,
    [OP_AVERAGE_POOL_BWD] = run_average_bwd,
    [OP_LP_POOL] = run_lp,
    [OP_LP_POOL_BWD] = run_lp_bwd,
};

status cuda_plan_pool(backend_program *p, cuda_node *n, error *err)
{
    graph_op op = n->node->op;
    bool backward = graph_op_of(op)->traits & OP_BACKWARD;
    const graph_shape *x = backward ? &cuda_out(n, 0)->shape : &cuda_in(n, 0)->shape;
    const graph_shape *y = backward ? &cuda_in(n, 0)->shape : &cuda_out(n, 0)->shape;
    pool_attr a = op == OP_GLOBAL_AVERAGE_POOL ? whole_plane(x) : *(const pool_attr *)n->node->attr;
    TRY(check_sizes(&a, x, y, err));
    if (op == OP_MAX_POOL_BWD)
        TRY(check_workspace(p, cuda_in(n, 1), err));
    launch_pool *t = describe(p, &a, x, y);
    t->type = cuda_launch_type(cuda_in_storage(n, 0).type);
    if (cuda_in_storage(n, 0).channels_last || cuda_out_storage(n, 0).channels_last) {
        t->channels = x->dim[1];
        t->planes = x->dim[0];
    }
    if (op == OP_MAX_POOL && cuda_out(n, 1) && t->wide_taps)
        p->bytes[n->node->out[1]] *= sizeof(int32_t);
    n->body = body_of[op];
    n->state = t;
    return OK;
}

status cuda_plan_lp_pool(backend_program *p, cuda_node *n, error *err)
{
    return cuda_plan_pool(p, n, err);
}
