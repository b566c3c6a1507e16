#include "onnx/rewrite.h"

#include <stdlib.h>
#include <string.h>

static void mark_live(const graph *from, const graph_val *outputs, size_t n_outputs, bool *live)
{
    for (size_t i = 0; i < n_outputs; i++)
        live[outputs[i]] = true;
    for (int32_t i = graph_n_nodes(from); i-- > 0;) {
        const graph_node *n = graph_node_at(from, i);
        bool any = false;
        for (int32_t k = 0; k < n->n_out; k++)
            any |= n->out[k] != GRAPH_NONE && live[n->out[k]];
        for (int32_t k = 0; any && k < n->n_in; k++)
            if (n->in[k] != GRAPH_NONE)
                live[n->in[k]] = true;
    }
}

static status copy_outer(const graph *from, graph_val v, graph *to, graph_val *to_of, error *err)
{
    const graph_value *value = graph_value_at(from, v);
    if (value->kind == VAL_PARAM)
        return graph_param(to, value->param, &to_of[v], err);
    if (value->kind == VAL_CONST)
        return graph_const(to, NULL, value->dtype, value->shape, value->data, &to_of[v], err);
    return OK; /* inputs are there already */
}

static status copy_node(const graph_node *n, graph *to, graph_val *to_of, error *err)
{
    graph_val *in = xcalloc((size_t)n->n_in + 1, sizeof *in);
    graph_val *out = xcalloc((size_t)n->n_out + 1, sizeof *out);
    for (int32_t k = 0; k < n->n_in; k++)
        in[k] = n->in[k] == GRAPH_NONE ? GRAPH_NONE : to_of[n->in[k]];
    status st = graph_add(to, n->op, n->name, in, n->n_in, n->attr, out, err);
    for (int32_t k = 0; st == OK && k < n->n_out; k++)
        if (n->out[k] != GRAPH_NONE)
            to_of[n->out[k]] = out[k];
    free(in);
    free(out);
    return st;
}

/* Values that no node makes come where they were made, so that the order of weights stays. */
static status copy_live(const graph *from, const bool *live, graph *to, graph_val *to_of,
                        error *err)
{
    for (graph_val v = 0; v < graph_n_values(from); v++) {
        const graph_value *value = graph_value_at(from, v);
        bool state = value->kind == VAL_PARAM && value->param->kind == TENSOR_STATE;
        if (value->kind != VAL_TEMP && (live[v] || state))
            TRY(copy_outer(from, v, to, to_of, err));
    }
    for (int32_t i = 0; i < graph_n_nodes(from); i++) {
        const graph_node *n = graph_node_at(from, i);
        bool any = false;
        for (int32_t k = 0; k < n->n_out; k++)
            any |= n->out[k] != GRAPH_NONE && live[n->out[k]];
        if (any)
            TRY(copy_node(n, to, to_of, err));
    }
    return OK;
}

status rewrite_copy(const graph *from, const graph_val *outputs, size_t n_outputs, graph *to,
                    graph_val *to_of, error *err)
{
    bool *live = xcalloc((size_t)graph_n_values(from) + 1, sizeof *live);
    mark_live(from, outputs, n_outputs, live);
    status st = copy_live(from, live, to, to_of, err);
    free(live);
    return st;
}
