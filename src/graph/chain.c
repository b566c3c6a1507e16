/* The walk of the chain rule, and what is dropped of what it appends. */
#include "graph/chain.h"

#include "graph/ops/emit.h"

#include <inttypes.h>
#include <stdlib.h>

status chain_check_ends(const graph *g, graph_val loss, graph_val weight, error *err)
{
    const graph_val ends[] = {loss, weight};
    static const char *const what[] = {"loss", "weight"};
    if (g->has_backward)
        return FAIL(err, E_CONFIG, "backward: this graph has its gradients already");
    for (int i = 0; i < 2; i++) {
        char text[SHAPE_TEXT];
        if (ends[i] < 0 || ends[i] >= g->n_values)
            return FAIL(err, E_CONFIG, "backward: the %s is not a value of this graph", what[i]);
        const graph_value *v = graph_value_at(g, ends[i]);
        if (v->dtype != DT_F32 || graph_shape_elements(&v->shape) != 1)
            return FAIL(err, E_CONFIG, "backward: the %s '%s' is %s %s, must be one float32",
                        what[i], v->name, dtype_name(v->dtype),
                        graph_shape_text(&v->shape, text, sizeof text));
    }
    return OK;
}

/* Gradients are float32, those of values that were rounded for a product too. */
static bool has_gradient(dtype t)
{
    return t == DT_F32 || dtype_is_half(t);
}

static void size_for(chain *c, int32_t most_in, int32_t most_out)
{
    c->dout = xcalloc((size_t)most_out, sizeof *c->dout);
    c->din = xcalloc((size_t)most_in, sizeof *c->din);
    c->want = xcalloc((size_t)most_in, sizeof *c->want);
}

/* What depends on what needs a gradient needs one too. */
static void mark_outputs(chain *c, const graph_node *n, value_range constant)
{
    bool any = false;
    for (int32_t k = 0; k < n->n_in; k++)
        any |= n->in[k] != GRAPH_NONE && c->needs[n->in[k]];
    for (int32_t k = 0; k < n->n_out; k++) {
        graph_val v = n->out[k];
        bool is_constant = constant.begin <= v && v < constant.end;
        if (v != GRAPH_NONE)
            c->needs[v] = any && !is_constant && has_gradient(c->g->values[v].dtype);
    }
}

void chain_init(chain *c, graph *g, value_range constant)
{
    int32_t most_in = 0, most_out = 0;
    *c = (chain){.g = g, .n_nodes = g->n_nodes, .n_values = g->n_values};
    c->needs = xcalloc((size_t)c->n_values, sizeof *c->needs);
    c->total = xcalloc((size_t)c->n_values, sizeof *c->total);
    for (graph_val v = 0; v < c->n_values; v++) {
        const graph_value *value = &g->values[v];
        c->needs[v] = value->kind == VAL_PARAM && value->param->kind == TENSOR_TRAINABLE;
        c->total[v] = GRAPH_NONE;
    }
    for (int32_t i = 0; i < c->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        most_in = graph_node_slots(n) > most_in ? graph_node_slots(n) : most_in;
        most_out = n->n_out > most_out ? n->n_out : most_out;
        mark_outputs(c, n, constant);
    }
    size_for(c, most_in, most_out);
}

void chain_fini(chain *c)
{
    free(c->needs);
    free(c->total);
    free(c->dout);
    free(c->din);
    free(c->want);
    buf_fini(&c->refusals);
}

status chain_begin(chain *c, graph_val loss, graph_val weight, error *err)
{
    graph_shape shape = c->g->values[loss].shape;
    c->g->prefix = c->g->values[loss].name;
    TRY(emit_reshape(c->g, weight, &(graph_shape){.rank = 0}, &c->weight, err));
    return emit_reshape(c->g, c->weight, &shape, &c->total[loss], err);
}

static void refuse(chain *c, const graph_node *n, const char *why)
{
    buf_addf(&c->refusals, "%s%s (%s): %s", c->n_refusals ? "; " : "", n->name,
             graph_op_of(n->op)->name, why);
    c->n_refusals++;
}

/* Whether `d`, which the node at hand has just sent back, can be added to `base` by its maker:
 * nobody else has it yet. */
static bool takes_base(const chain *c, int32_t first_new, graph_val d, graph_val base)
{
    int32_t def = c->g->values[d].def;
    if (def == GRAPH_NONE || def < first_new || c->g->values[base].def >= def)
        return false;
    const graph_node *maker = &c->g->nodes[def];
    return graph_op_of(maker->op)->traits & OP_ADDS &&
           maker->in[graph_node_slots(maker) - 1] == GRAPH_NONE;
}

/* Nodes from first_new on belong to the gradient of the node at hand. */
static status add_to_total(chain *c, int32_t first_new, graph_val v, graph_val d, error *err)
{
    graph_val total = c->total[v];
    c->total[v] = d;
    if (total == GRAPH_NONE)
        return OK;
    if (!takes_base(c, first_new, d, total))
        return emit_2(c->g, OP_ADD, total, d, NULL, &c->total[v], err);
    graph_node *maker = &c->g->nodes[c->g->values[d].def];
    maker->n_in = graph_node_slots(maker);
    maker->in[maker->n_in - 1] = total;
    return OK;
}

/* Fills dout and want; false if no gradient arrives at the node or nobody wants one from it. */
static bool takes_part(chain *c, const graph_node *n)
{
    bool any_dout = false, any_want = false;
    for (int32_t k = 0; k < n->n_out; k++) {
        c->dout[k] = n->out[k] == GRAPH_NONE ? GRAPH_NONE : c->total[n->out[k]];
        any_dout |= c->dout[k] != GRAPH_NONE;
    }
    for (int32_t k = 0; k < graph_node_slots(n); k++) {
        c->want[k] = n->in[k] != GRAPH_NONE && c->needs[n->in[k]];
        any_want |= c->want[k];
        c->din[k] = GRAPH_NONE;
    }
    return any_dout && any_want;
}

status chain_pass(chain *c, int32_t node, error *err)
{
    graph_node n = c->g->nodes[node];
    int32_t first_new = c->g->n_nodes;
    c->g->prefix = n.name;
    if (!takes_part(c, &n))
        return OK;
    const graph_op_info *info = graph_op_of(n.op);
    if (!info->grad) {
        refuse(c, &n, "this operator has no gradient");
        return OK;
    }
    error why = ERROR_INIT;
    status st = info->grad(&(graph_gradient){c->g, n, c->dout, c->want, c->din}, &why);
    if (st == E_UNSUPPORTED) {
        refuse(c, &n, why.text);
        return OK;
    }
    if (st != OK)
        return FAIL(err, st, "gradient of %s (%s): %s", n.name, info->name, why.text);
    for (int32_t k = 0; k < n.n_in; k++) {
        if (!c->want[k])
            continue;
        graph_val d = c->din[k];
        BUG_ON(d == GRAPH_NONE);
        BUG_ON(!graph_shape_equal(&c->g->values[d].shape, &c->g->values[n.in[k]].shape));
        TRY(add_to_total(c, first_new, n.in[k], d, err));
    }
    return OK;
}

status chain_refusals(const chain *c, error *err)
{
    if (!c->n_refusals)
        return OK;
    return FAIL(err, E_UNSUPPORTED, "no gradient for %" PRId32 " node%s: %s", c->n_refusals,
                c->n_refusals == 1 ? "" : "s", c->refusals.data);
}

/* --- what nobody reads --- */

/* What leads to what is marked, from the last node backwards. */
static void mark_live(const graph *g, int32_t first_node, bool *live)
{
    for (int32_t i = g->n_nodes - 1; i >= first_node; i--) {
        const graph_node *n = &g->nodes[i];
        bool any = false;
        for (int32_t k = 0; k < n->n_out; k++)
            any |= n->out[k] != GRAPH_NONE && live[n->out[k]];
        for (int32_t k = 0; any && k < n->n_in; k++) {
            if (n->in[k] != GRAPH_NONE)
                live[n->in[k]] = true;
        }
    }
}

static void renumber(graph_val *v, const graph_val *to)
{
    if (*v != GRAPH_NONE)
        *v = to[*v];
}

/* False: nobody reads what it makes. */
static bool renumber_node(graph *g, graph_node *n, int32_t place, const graph_val *to)
{
    bool any = false;
    for (int32_t k = 0; k < n->n_out; k++) {
        renumber(&n->out[k], to);
        any |= n->out[k] != GRAPH_NONE;
    }
    for (int32_t k = 0; any && k < n->n_in; k++)
        renumber(&n->in[k], to);
    for (int32_t k = 0; any && k < n->n_out; k++) {
        if (n->out[k] != GRAPH_NONE)
            g->values[n->out[k]].def = place;
    }
    return any;
}

void graph_drop_dead(graph *g, int32_t first_node, graph_val first_value, bool *live, graph_val *ret_to)
{
    int32_t n_values = 0, n_nodes = first_node;
    mark_live(g, first_node, live);
    for (graph_val v = 0; v < g->n_values; v++) {
        bool stays = v < first_value || live[v];
        ret_to[v] = stays ? n_values : GRAPH_NONE;
        if (stays)
            g->values[n_values++] = g->values[v];
    }
    for (int32_t i = first_node; i < g->n_nodes; i++) {
        graph_node n = g->nodes[i];
        if (renumber_node(g, &n, n_nodes, ret_to))
            g->nodes[n_nodes++] = n;
    }
    for (graph_val v = 0; v < n_values; v++)
        renumber(&g->values[v].grad, ret_to);
    g->n_values = n_values;
    g->n_nodes = n_nodes;
}
