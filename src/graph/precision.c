#include "graph/precision.h"

#include "graph/internal.h"
#include "graph/ops/emit.h"

#include <stdlib.h>

/* How many of the operator's first inputs are factors of matmuls that a node is to round. */
static int32_t n_factors(const graph_node *n)
{
    switch (n->op) {
    case OP_MATMUL:
        return ((const matmul_attr *)n->attr)->exact ? 0 : 2;
    case OP_GEMM:
        return 2;
    case OP_ATTENTION:
        return 3;
    case OP_CONV:
    case OP_CONV_TRANSPOSE:
        return 1;
    default:
        return 0;
    }
}

static status round_factors(graph *g, graph_node *n, dtype to, graph_val *rounded, error *err)
{
    for (int32_t k = 0; k < n_factors(n) && k < n->n_in; k++) {
        graph_val v = n->in[k];
        if (v == GRAPH_NONE || g->values[v].dtype != DT_F32)
            continue;
        if (rounded[v] == GRAPH_NONE)
            TRY(emit_1(g, OP_TO_HALF, v, &(cast_attr){.to = to}, &rounded[v], err));
        n->in[k] = rounded[v];
    }
    return OK;
}

/* The nodes are appended anew, each behind what rounds its factors. */
static status round_all(graph *g, dtype to, error *err)
{
    graph_node *nodes = g->nodes;
    int32_t n_nodes = g->n_nodes;
    graph_val *rounded = xcalloc((size_t)g->n_values + 1, sizeof *rounded);
    for (graph_val v = 0; v < g->n_values; v++)
        rounded[v] = GRAPH_NONE;
    g->nodes = NULL;
    g->n_nodes = g->cap_nodes = 0;
    status st = OK;
    for (int32_t i = 0; i < n_nodes && st == OK; i++) {
        st = round_factors(g, &nodes[i], to, rounded, err);
        graph_append_node(g, &nodes[i]);
    }
    graph_reindex(g);
    free(rounded);
    free(nodes);
    return st;
}

status graph_set_precision(graph *g, graph_precision precision, error *err)
{
    BUG_ON(g->has_backward);
    g->precision = precision;
    if (precision == PRECISION_F32 || precision == PRECISION_TF32)
        return OK;
    return round_all(g, precision == PRECISION_BF16 ? DT_BF16 : DT_F16, err);
}

graph_precision graph_precision_of(const graph *g)
{
    return g->precision;
}

void graph_allow_half_weight_gradients(graph *g)
{
    g->half_weight_gradients = true;
}

bool graph_has_half_weight_gradients(const graph *g)
{
    return g->half_weight_gradients;
}

void graph_allow_library_dropout(graph *g)
{
    g->library_dropout = true;
}

bool graph_has_library_dropout(const graph *g)
{
    return g->library_dropout;
}
