#include "exec/nonfinite.h"

#include "common/base/alloc.h"
#include "exec/state.h"

#include <math.h>
#include <stdlib.h>

typedef struct range {
    float low, high; /* of what is no NaN; low > high: nothing is */
    bool has_nan, has_infinity;
} range;

/* False where there is nothing to be looked at: other types, values that were fused away. Temporaries
 * may lie in blocks, which zeros fill up. */
static bool nonfinite_look(const variant *v, graph_val at, range *ret)
{
    const graph_value *value = graph_value_at(v->graph, at);
    const float *x = v->addresses[at];
    size_t n = value->kind == VAL_TEMP ? plan_place_of(v->plan, at)->bytes / sizeof *x
                                       : (size_t)graph_shape_elements(&value->shape);
    range r = {.low = INFINITY, .high = -INFINITY};
    if (!x || value->dtype != DT_F32 || n == 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        r.has_nan |= x[i] != x[i];
        r.has_infinity |= isinf(x[i]) != 0;
        r.low = x[i] < r.low ? x[i] : r.low;
        r.high = x[i] > r.high ? x[i] : r.high;
    }
    *ret = r;
    return true;
}

/* Nodes that nothing is wrong with make an infinite number of an infinite one, as masks are. */
static void note_sources(const variant *v, bool *infinite)
{
    for (graph_val at = 0; at < graph_n_values(v->graph); at++) {
        range r;
        if (graph_value_at(v->graph, at)->kind != VAL_TEMP && nonfinite_look(v, at, &r))
            infinite[at] = r.has_infinity;
    }
}

static bool reads_infinity(const graph_node *n, const bool *infinite)
{
    for (int32_t k = 0; k < n->n_in; k++)
        if (n->in[k] != GRAPH_NONE && infinite[n->in[k]])
            return true;
    return false;
}

/* The node to be named, -1 if there is none. */
static status nonfinite_find(const exec *e, const variant *v, bool *infinite, int32_t *ret_node, bool *ret_nan,
                             error *err)
{
    int32_t infinity = -1;
    *ret_nan = false;
    note_sources(v, infinite);
    for (int32_t i = 0; i < graph_n_nodes(v->graph); i++) {
        const graph_node *n = graph_node_at(v->graph, i);
        bool was_infinite = reads_infinity(n, infinite);
        TRY(variant_run_node(v, i, false, e->workspace, err));
        for (int32_t k = 0; k < n->n_out; k++) {
            range r;
            if (n->out[k] == GRAPH_NONE || !nonfinite_look(v, n->out[k], &r))
                continue;
            infinite[n->out[k]] = r.has_infinity;
            if (r.has_nan) {
                *ret_nan = !was_infinite || infinity < 0;
                *ret_node = *ret_nan ? i : infinity;
                return OK;
            }
            if (r.has_infinity && !was_infinite && infinity < 0)
                infinity = i;
        }
    }
    *ret_node = infinity;
    return OK;
}

static bool is_repeated(const graph_node *n, int32_t k)
{
    for (int32_t i = 0; i < k; i++)
        if (n->in[i] == n->in[k])
            return true;
    return false;
}

/* As they are before the node runs, which may overwrite them. */
static status describe_operands(const exec *e, const variant *v, int32_t node, buf *ret, error *err)
{
    const graph_node *n = graph_node_at(v->graph, node);
    for (int32_t i = 0; i < node; i++)
        TRY(variant_run_node(v, i, false, e->workspace, err));
    for (int32_t k = 0; k < n->n_in; k++) {
        range r;
        if (n->in[k] == GRAPH_NONE || is_repeated(n, k) || !nonfinite_look(v, n->in[k], &r))
            continue;
        buf_addf(ret, "%s'%s'", ret->size ? ", " : "", graph_value_at(v->graph, n->in[k])->name);
        if (r.low <= r.high)
            buf_addf(ret, " from %g to %g", (double)r.low, (double)r.high);
        if (r.has_nan)
            buf_adds(ret, r.low <= r.high ? " and NaN" : " all NaN");
    }
    return OK;
}

status exec_find_nonfinite(exec *e, size_t variant_index, nonfinite *ret, buf *operands, error *err)
{
    BUG_ON(e->queued || variant_index >= e->n_variants);
    const variant *v = &e->variants[variant_index];
    bool *infinite = xcalloc((size_t)graph_n_values(v->graph) + 1, sizeof *infinite);
    int32_t node;
    bool is_nan;
    status st = nonfinite_find(e, v, infinite, &node, &is_nan, err);
    free(infinite);
    TRY(st);
    if (node >= 0)
        TRY(describe_operands(e, v, node, operands, err));
    *ret = (nonfinite){node < 0 ? NULL : graph_node_at(v->graph, node), is_nan};
    return OK;
}
