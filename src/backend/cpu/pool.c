/*
 * Pooling on oneDNN, in the layout its input has. MaxPool's second output is oneDNN's own memory of
 * where the maxima were: opaque bytes, as many as the primitive says.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/window.h"

#include <string.h>

static status window_of(const cpu_node *n, const graph_shape *x, const graph_shape *y,
                        shim_window *ret, error *err)
{
    if (n->node->op == OP_GLOBAL_AVERAGE_POOL) {
        const int64_t zeros[2 * SPATIAL] = {0};
        return window_make(x->dim + 2, zeros, zeros, zeros, x, y, ret, err);
    }
    const pool_attr *a = n->node->attr;
    return window_make(a->kernel, a->strides, a->pads, a->dilations, x, y, ret, err);
}

static shim_pooling kind_of(const cpu_node *n)
{
    if (n->node->op == OP_MAX_POOL || n->node->op == OP_MAX_POOL_BWD)
        return SHIM_POOL_MAX;
    if (n->node->op == OP_GLOBAL_AVERAGE_POOL)
        return SHIM_POOL_MEAN;
    return ((const pool_attr *)n->node->attr)->count_include_pad ? SHIM_POOL_MEAN_PADDED
                                                                 : SHIM_POOL_MEAN;
}

static status run_pool(const cpu_node *n, const cpu_call *c, error *err)
{
    shim_primitive *pool = (shim_primitive *)(uintptr_t)n->state;
    TRY(shim_set(pool, SHIM_SRC, c->in[0], err));
    TRY(shim_set(pool, SHIM_DST, c->out[0], err));
    TRY(shim_set(pool, SHIM_WORKSPACE, c->out[1], err));
    return node_execute(pool, c->scratch, err);
}

status plan_pool(backend_program *p, cpu_node *n, error *err)
{
    const graph_shape *x = &node_in(n, 0)->shape, *y = &node_out(n, 0)->shape;
    shim_window w;
    TRY(window_of(n, x, y, &w, err));
    const shim_layout *src = p->layout[n->node->in[0]], *dst;
    TRY(layout_any(p, y, &dst, err));
    bool training = n->node->op == OP_MAX_POOL && node_out(n, 1);
    shim_primitive *pool;
    TRY(shim_pool(p->shim, kind_of(n), &w, src, dst, training, &pool, err));
    n->body = run_pool;
    n->state = pool;
    n->scratch_bytes = shim_bytes_of(pool, SHIM_SCRATCH);
    n->in[0].want = shim_layout_of(pool, SHIM_SRC);
    n->out[0].want = shim_layout_of(pool, SHIM_DST);
    if (training)
        p->bytes[n->node->out[1]] = shim_bytes_of(pool, SHIM_WORKSPACE);
    return OK;
}

static status run_pool_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    shim_primitive *pool = (shim_primitive *)(uintptr_t)n->state;
    TRY(shim_set(pool, SHIM_DIFF_DST, c->in[0], err));
    TRY(shim_set(pool, SHIM_WORKSPACE, c->in[1], err));
    TRY(shim_set(pool, SHIM_DIFF_SRC, c->out[0], err));
    return node_execute(pool, c->scratch, err);
}

static status plan_max_bwd(backend_program *p, cpu_node *n, const shim_window *w,
                           shim_primitive **ret, error *err)
{
    const graph_value *workspace = node_in(n, 1);
    if (workspace->def == GRAPH_NONE || p->nodes[workspace->def].node->op != OP_MAX_POOL)
        return FAIL(err, E_UNSUPPORTED, "its workspace '%s' is not a MaxPool's second output",
                    workspace->name);
    const shim_primitive *forward = p->nodes[workspace->def].state;
    if (!forward)
        return FAIL(err, E_UNSUPPORTED, "the MaxPool that fills '%s' has no kernel",
                    workspace->name);
    return shim_max_pool_bwd(p->shim, w, forward, ret, err);
}

static status plan_mean_bwd(backend_program *p, cpu_node *n, const shim_window *w,
                            shim_primitive **ret, error *err)
{
    const graph_value *dx = node_out(n, 0), *dy = node_in(n, 0);
    const shim_layout *src = node_wished_layout(p, n->node->out[0]);
    if (!src)
        TRY(layout_plain(p, &dx->shape, &src, err));
    const shim_layout *dst;
    TRY(layout_any(p, &dy->shape, &dst, err));
    return shim_mean_pool_bwd(p->shim, kind_of(n), w, src, dst, ret, err);
}

status plan_pool_bwd(backend_program *p, cpu_node *n, error *err)
{
    shim_window w;
    TRY(window_of(n, &node_out(n, 0)->shape, &node_in(n, 0)->shape, &w, err));
    shim_primitive *pool;
    if (n->node->op == OP_MAX_POOL_BWD)
        TRY(plan_max_bwd(p, n, &w, &pool, err));
    else
        TRY(plan_mean_bwd(p, n, &w, &pool, err));
    n->body = run_pool_bwd;
    n->state = pool;
    n->scratch_bytes = shim_bytes_of(pool, SHIM_SCRATCH);
    n->in[0].want = shim_layout_of(pool, SHIM_DIFF_DST);
    n->out[0].want = shim_layout_of(pool, SHIM_DIFF_SRC);
    return OK;
}
