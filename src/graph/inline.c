#include "graph/inline.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

static status bring_value(graph *g, const graph_inlined *what, graph_val v, graph_val *ret, error *err)
{
    const graph_value *value = graph_value_at(what->from, v);
    const void *data = value->kind == VAL_PARAM ? what->params[v] : value->data;
    *ret = GRAPH_NONE;
    if (value->kind == VAL_INPUT)
        *ret = what->inputs[v];
    if (value->kind != VAL_PARAM && value->kind != VAL_CONST)
        return OK;
    return graph_const(g, arena_printf(graph_arena(g), "%s%s", what->prefix, value->name), value->dtype, value->shape,
                       data, ret, err);
}

static status bring_node(graph *g, const graph_inlined *what, int32_t i, graph_val *values, error *err)
{
    const graph_node *n = graph_node_at(what->from, i);
    graph_val *in = xcalloc((size_t)n->n_in + 1, sizeof *in), *out = xcalloc((size_t)n->n_out + 1, sizeof *out);
    for (int32_t k = 0; k < n->n_in; k++)
        in[k] = n->in[k] == GRAPH_NONE ? GRAPH_NONE : values[n->in[k]];
    status st = graph_add(g, n->op, arena_printf(graph_arena(g), "%s%s", what->prefix, n->name), in, n->n_in, n->attr,
                          out, err);
    for (int32_t k = 0; st == OK && k < n->n_out; k++)
        if (n->out[k] != GRAPH_NONE)
            values[n->out[k]] = out[k];
    free(in);
    free(out);
    return st;
}

status graph_inline(graph *g, const graph_inlined *what, graph_val *ret, error *err)
{
    for (graph_val v = 0; v < graph_n_values(what->from); v++)
        TRY(bring_value(g, what, v, &ret[v], err));
    for (int32_t i = 0; i < graph_n_nodes(what->from); i++)
        TRY(bring_node(g, what, i, ret, err));
    return OK;
}
