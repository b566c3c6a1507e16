/*
 * The walk where a kernel is done when it returns. At every node:
 *
 *     cancelled?  ->  need(parts first read here)  ->  the kernel  ->  ready(parts done here)
 */
#include "exec/state.h"

#include "common/base/clock.h"

static status direct_need_parts(const exec_hooks *hooks, const part_events *events, size_t *at,
                                int32_t node, error *err)
{
    int64_t edition; /* the weights are read where they are: nobody keeps a copy */
    for (; *at < events->n && events->items[*at].node == node; (*at)++)
        if (hooks && hooks->need)
            TRY(hooks->need(hooks->user, events->items[*at].part, &edition, err));
    return OK;
}

static status ready_parts(const exec *e, const exec_hooks *hooks, const part_events *events,
                          size_t *at, int32_t node, error *err)
{
    const float *grad = e->memory.grad ? e->slabs[SLAB_GRAD] : NULL;
    for (; *at < events->n && events->items[*at].node == node; (*at)++)
        TRY(hooks_ready(hooks, e->flat, events->items[*at].part, grad, err));
    return OK;
}

static status direct_run_node(const exec *e, const variant *v, const exec_hooks *hooks, int32_t node, error *err)
{
    const exec_trace *trace = hooks ? hooks->trace : NULL;
    if (!trace || !v->kernels[node].run)
        return variant_run_node(v, node, v->times, e->workspace, err);
    int64_t begin = clock_ns();
    TRY(variant_run_node(v, node, v->times, e->workspace, err));
    trace->node(trace->user, node, begin, clock_ns());
    return OK;
}

status exec_run_direct(const exec *e, const variant *v, const exec_hooks *hooks, error *err)
{
    int32_t n_nodes = graph_n_nodes(v->graph);
    size_t needed = 0, readied = 0;
    for (int32_t node = 0; node < n_nodes; node++) {
        if (hooks_cancelled(hooks))
            return FAIL(err, E_LOST, "cancelled");
        TRY(direct_need_parts(hooks, &v->need, &needed, node, err));
        TRY(direct_run_node(e, v, hooks, node, err));
        TRY(ready_parts(e, hooks, &v->ready, &readied, node, err));
    }
    return ready_parts(e, hooks, &v->ready, &readied, n_nodes, err);
}
