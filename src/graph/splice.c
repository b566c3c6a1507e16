#include "graph/splice.h"

#include "graph/internal.h"

#include <stdlib.h>

/* What the caller has put in place of an input. */
static void read_now(graph_node *n, const graph_val *now, int32_t n_values)
{
    for (int32_t k = 0; k < n->n_in; k++)
        if (n->in[k] != GRAPH_NONE && n->in[k] < n_values)
            n->in[k] = now[n->in[k]];
}

/* The nodes are appended anew, each with what is added behind it. */
status graph_splice(graph *g, graph_splice_fn *behind, void *arg, graph_val *ret_now, error *err)
{
    BUG_ON(g->has_backward);
    graph_node *nodes = g->nodes;
    const int32_t n_nodes = g->n_nodes, n_values = g->n_values;
    status st = OK;
    g->nodes = NULL;
    g->n_nodes = g->cap_nodes = 0;
    for (graph_val v = 0; v < n_values; v++)
        ret_now[v] = v;
    for (int32_t i = 0; i < n_nodes && st == OK; i++) {
        const graph_val made = nodes[i].out[0];
        read_now(&nodes[i], ret_now, n_values);
        graph_append_node(g, &nodes[i]);
        if (made != GRAPH_NONE)
            st = behind(g, &nodes[i], &ret_now[made], arg, err);
    }
    graph_reindex(g);
    free(nodes);
    return st;
}
