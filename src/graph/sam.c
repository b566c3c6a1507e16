#include "graph/sam.h"

#include "graph/ops/emit.h"

#include <stdlib.h>

/* For gradients that are 0: as in the implementation by the authors. */
static const float EPSILON = 1e-12f;

typedef struct climb {
    graph *g;
    const graph_sam *sam;
    int32_t n_nodes, n_values;  /* of the first pass's forward */
    graph_val *grad;            /* [n_values] of the parameters that lead to the loss; else GRAPH_NONE */
    graph_val *step;            /* [n_values] e */
    graph_val *again;           /* [n_values] what stands for a value in the second pass; most often it */
} climb;

static bool climbs(const climb *c, graph_val v)
{
    return c->grad[v] != GRAPH_NONE;
}

/* --- the first gradient --- */

static status pass_all(chain *all, graph_val loss, graph_val weight, error *err)
{
    TRY(chain_begin(all, loss, weight, err));
    for (int32_t i = all->n_nodes - 1; i >= 0; i--)
        TRY(chain_pass(all, i, err));
    return chain_refusals(all, err);
}

static status first_gradient(climb *c, graph_val loss, graph_val weight, error *err)
{
    chain all;
    chain_init(&all, c->g, (value_range){0, 0});
    status st = pass_all(&all, loss, weight, err);
    for (graph_val v = 0; st == OK && v < c->n_values; v++) {
        const graph_value *value = &c->g->values[v];
        if (value->kind == VAL_PARAM && all.needs[v])
            c->grad[v] = all.total[v];
    }
    chain_fini(&all);
    return st;
}

/* --- the weights beside --- */

/* rho / (|g| + epsilon), the sums in the order of the parameters; GRAPH_NONE without any. */
static status share_of_gradient(climb *c, graph_val *ret, error *err)
{
    static const reduce_attr whole = {.drop_dims = true};
    graph_val sum = GRAPH_NONE, part, rho, epsilon;
    for (graph_val v = 0; v < c->n_values; v++) {
        if (!climbs(c, v))
            continue;
        part = c->grad[v];
        if (c->sam->adaptive)
            TRY(emit_2(c->g, OP_MUL, part, v, NULL, &part, err));
        TRY(emit_1(c->g, OP_REDUCE_SUM_SQUARE, part, &whole, &part, err));
        if (sum != GRAPH_NONE)
            TRY(emit_2(c->g, OP_ADD, sum, part, NULL, &part, err));
        sum = part;
    }
    *ret = GRAPH_NONE;
    if (sum == GRAPH_NONE)
        return OK;
    TRY(emit_number(c->g, c->sam->rho, &rho, err));
    TRY(emit_number(c->g, EPSILON, &epsilon, err));
    TRY(emit_1(c->g, OP_SQRT, sum, NULL, &sum, err));
    TRY(emit_2(c->g, OP_ADD, sum, epsilon, NULL, &sum, err));
    return emit_2(c->g, OP_DIV, rho, sum, NULL, ret, err);
}

static status one_step(climb *c, graph_val v, graph_val share, error *err)
{
    graph_val e = c->grad[v];
    for (int times = c->sam->adaptive ? 2 : 0; times > 0; times--)
        TRY(emit_2(c->g, OP_MUL, e, v, NULL, &e, err));
    return emit_2(c->g, OP_MUL, e, share, NULL, &c->step[v], err);
}

/* The sums come last: all that is appended before them is constant to the second gradient. */
static status move_weights(climb *c, value_range *ret_constant, error *err)
{
    graph_val share;
    TRY(share_of_gradient(c, &share, err));
    for (graph_val v = 0; v < c->n_values; v++)
        if (climbs(c, v))
            TRY(one_step(c, v, share, err));
    *ret_constant = (value_range){c->n_values, c->g->n_values};
    for (graph_val v = 0; v < c->n_values; v++) {
        if (!climbs(c, v))
            continue;
        TRY(emit_2(c->g, OP_ADD, c->step[v], v, NULL, &c->again[v], err));
        c->g->values[c->again[v]].param = c->g->values[v].param;
    }
    return OK;
}

/* Of the first gradient what leads nowhere. */
static void drop_dead(climb *c, value_range *constant)
{
    graph *g = c->g;
    bool *live = xcalloc((size_t)g->n_values, sizeof *live);
    graph_val *to = xcalloc((size_t)g->n_values, sizeof *to);
    int32_t n_moved = 0;
    for (graph_val v = 0; v < c->n_values; v++) {
        live[c->again[v]] = true;
        n_moved += climbs(c, v);
    }
    graph_drop_dead(g, c->n_nodes, c->n_values, live, to);
    for (graph_val v = 0; v < c->n_values; v++)
        c->again[v] = to[c->again[v]];
    constant->end = g->n_values - n_moved;
    graph_reindex(g);
    free(live);
    free(to);
}

/* --- the second pass --- */

/* Which nodes of forward the loss depends on. */
static bool *nodes_to(const climb *c, graph_val loss)
{
    bool *ret = xcalloc((size_t)c->n_nodes + 1, sizeof *ret);
    if (c->g->values[loss].def != GRAPH_NONE)
        ret[c->g->values[loss].def] = true;
    for (int32_t i = c->n_nodes - 1; i >= 0; i--) {
        const graph_node *n = &c->g->nodes[i];
        for (int32_t k = 0; ret[i] && k < n->n_in; k++)
            if (n->in[k] != GRAPH_NONE && c->g->values[n->in[k]].def != GRAPH_NONE)
                ret[c->g->values[n->in[k]].def] = true;
    }
    return ret;
}

static bool reads_moved(const climb *c, const graph_node *n)
{
    for (int32_t k = 0; k < n->n_in; k++)
        if (n->in[k] != GRAPH_NONE && c->again[n->in[k]] != n->in[k])
            return true;
    return false;
}

static graph_val output_again(climb *c, graph_val v, const char *node_name)
{
    graph_value value = c->g->values[v];
    value.name = graph_free_name(c->g, &c->g->value_names, node_name, c->g->n_nodes);
    value.def = c->g->n_nodes;
    value.keep = false;
    return graph_append_value(c->g, &value);
}

/* Its shapes and attributes are known, so it passes by the door of graph_add. */
static void node_again(climb *c, int32_t node)
{
    graph *g = c->g;
    graph_node n = g->nodes[node];
    const int32_t n_slots = graph_node_slots(&n);
    const graph_val *in = n.in, *out = n.out;
    n.name = graph_free_name(g, &g->node_names, arena_printf(g->arena, "sam.%s", n.name), g->n_nodes);
    n.in = arena_alloc(g->arena, (size_t)n_slots * sizeof *n.in);
    n.out = arena_alloc(g->arena, (size_t)n.n_out * sizeof *n.out);
    for (int32_t k = 0; k < n_slots; k++)
        n.in[k] = in[k] == GRAPH_NONE ? GRAPH_NONE : c->again[in[k]];
    for (int32_t k = 0; k < n.n_out; k++) {
        n.out[k] = GRAPH_NONE;
        if (out[k] != GRAPH_NONE)
            n.out[k] = c->again[out[k]] = output_again(c, out[k], n.name);
    }
    names_put(&g->node_names, n.name, g->n_nodes);
    graph_append_node(g, &n);
}

static void forward_again(climb *c, graph_val loss)
{
    bool *leads = nodes_to(c, loss);
    for (int32_t i = 0; i < c->n_nodes; i++)
        if (leads[i] && reads_moved(c, &c->g->nodes[i]))
            node_again(c, i);
    free(leads);
}

static status append_all(climb *c, graph_val loss, graph_val weight, sam_pass *ret, error *err)
{
    value_range constant;
    TRY(first_gradient(c, loss, weight, err));
    c->g->prefix = "sam";
    TRY(move_weights(c, &constant, err));
    drop_dead(c, &constant);
    forward_again(c, loss);
    *ret = (sam_pass){c->again[loss], constant};
    return OK;
}

status sam_append(graph *g, graph_val loss, graph_val weight, const graph_sam *sam, sam_pass *ret, error *err)
{
    const size_t n = (size_t)g->n_values;
    climb c = {.g = g, .sam = sam, .n_nodes = g->n_nodes, .n_values = g->n_values};
    c.grad = xcalloc(n, sizeof *c.grad);
    c.step = xcalloc(n, sizeof *c.step);
    c.again = xcalloc(n, sizeof *c.again);
    for (graph_val v = 0; v < g->n_values; v++) {
        c.grad[v] = GRAPH_NONE;
        c.again[v] = v;
    }
    status st = append_all(&c, loss, weight, ret, err);
    free(c.grad);
    free(c.step);
    free(c.again);
    return st;
}
