#include "exec/variant_plan.h"

#include "common/base/alloc.h"

#include <stdlib.h>

void variant_wishes_init(variant_wishes *w, const variant *v, const flat *layout)
{
    const backend_fusion_ops *fusion = v->backend->fusion;
    int32_t n_values = graph_n_values(v->graph), n_nodes = graph_n_nodes(v->graph);
    w->bytes = xcalloc((size_t)n_values + 1, sizeof *w->bytes);
    w->runs_at = xcalloc((size_t)n_nodes + 1, sizeof *w->runs_at);
    w->no_inplace = xcalloc((size_t)n_nodes + 1, sizeof *w->no_inplace);
    w->no_alias = xcalloc((size_t)n_nodes + 1, sizeof *w->no_alias);
    w->same_as = xcalloc((size_t)n_values + 1, sizeof *w->same_as);
    w->fixed = xcalloc((size_t)n_nodes + 1, sizeof *w->fixed);
    for (graph_val i = 0; i < n_values; i++) {
        w->bytes[i] = v->backend->value_bytes(v->program, i);
        w->same_as[i] = fusion ? fusion->same_as(v->program, i) : GRAPH_NONE;
    }
    for (int32_t i = 0; i < n_nodes; i++) {
        const graph_node *n = graph_node_at(v->graph, i);
        w->runs_at[i] = fusion ? fusion->runs_at(v->program, i) : i;
        w->fixed[i] = fusion && fusion->is_bound(v->program, i);
        w->no_inplace[i] =
            graph_node_inplace(n) != GRAPH_NONE && !v->backend->can_run_inplace(v->program, i);
        w->no_alias[i] =
            graph_op_of(n->op)->traits & OP_ALIAS && !v->backend->can_alias(v->program, i);
    }
    w->plan = (plan_options){.value_bytes = w->bytes,
                             .runs_at = fusion ? w->runs_at : NULL,
                             .no_inplace = w->no_inplace,
                             .no_alias = w->no_alias,
                             .same_as = w->same_as,
                             .flat = layout};
}

void variant_wishes_fini(variant_wishes *w)
{
    free(w->bytes);
    free(w->runs_at);
    free(w->no_inplace);
    free(w->no_alias);
    free(w->same_as);
    free(w->fixed);
}
