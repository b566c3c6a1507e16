/* The graph in which copies of nodes stand among those of backward. */
#include "graph/internal.h"
#include "graph/recompute_walk.h"

#include <stdlib.h>
#include <string.h>

typedef struct maker {
    const recompute_walk *w;
    graph *h;
    graph_val *copy;    /* [n_values]; GRAPH_NONE: there is none */
} maker;

static void take_values(maker *m)
{
    const graph *g = m->w->g;
    graph *h = m->h;
    h->has_backward = g->has_backward;
    h->n_forward = g->n_forward;
    h->precision = g->precision;
    h->half_weight_gradients = g->half_weight_gradients;
    h->library_dropout = g->library_dropout;
    h->originals = arena_alloc(h->arena, 2 * (size_t)g->n_values * sizeof *h->originals);
    for (graph_val v = 0; v < g->n_values; v++) {
        m->copy[v] = GRAPH_NONE;
        h->originals[v] = v;
        graph_append_value(h, &g->values[v]);
    }
    for (int32_t i = 0; i < g->n_nodes; i++)
        names_put(&h->node_names, g->nodes[i].name, i);
}

static graph_val copy_value(maker *m, graph_val v)
{
    graph *h = m->h;
    graph_value copy = m->w->g->values[v];
    copy.name = graph_free_name(h, &h->value_names, arena_printf(h->arena, "%s.again", copy.name), 2);
    copy.keep = false;
    m->copy[v] = graph_append_value(h, &copy);
    h->originals[m->copy[v]] = v;
    return m->copy[v];
}

/* A node that reads copies where there are. */
static graph_node reading_copies(const maker *m, const graph_node *n)
{
    graph_node changed = *n;
    size_t slots = (size_t)graph_node_slots(n);
    changed.in = arena_alloc(m->h->arena, slots * sizeof *changed.in);
    memcpy(changed.in, n->in, slots * sizeof *changed.in);
    for (int32_t k = 0; k < n->n_in; k++)
        if (n->in[k] != GRAPH_NONE && recompute_reads_copy(m->w, n->in[k]))
            changed.in[k] = m->copy[n->in[k]];
    return changed;
}

static void append_copy(maker *m, const graph_node *n)
{
    graph *h = m->h;
    graph_node copy = reading_copies(m, n);
    copy.name = graph_free_name(h, &h->node_names, arena_printf(h->arena, "%s.again", n->name), 2);
    copy.out = arena_alloc(h->arena, (size_t)n->n_out * sizeof *copy.out);
    for (int32_t k = 0; k < n->n_out; k++)
        copy.out[k] = n->out[k] == GRAPH_NONE ? GRAPH_NONE : copy_value(m, n->out[k]);
    names_put(&h->node_names, copy.name, h->n_nodes);
    graph_append_node(h, &copy);
}

status recompute_graph(const recompute_walk *w, graph **ret, error *err)
{
    maker m = {.w = w};
    TRY(graph_create(&m.h, err));
    m.copy = xcalloc((size_t)w->n_values + 1, sizeof *m.copy);
    take_values(&m);
    for (int32_t t = 0; t < w->n_steps; t++) {
        const graph_node *n = &w->g->nodes[w->steps[t].node];
        if (w->steps[t].again) {
            append_copy(&m, n);
            continue;
        }
        graph_node as_is = w->steps[t].node < w->n_forward ? *n : reading_copies(&m, n);
        graph_append_node(m.h, &as_is);
    }
    graph_reindex(m.h);
    free(m.copy);
    *ret = m.h;
    return OK;
}
