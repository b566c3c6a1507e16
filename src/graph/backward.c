/*
 * Backward: the chain rule over the list of nodes, from the last to the first.
 *
 * `needs` marks what depends on a trainable parameter; nothing else is ever asked of a gradient
 * rule, so the first layer of a net makes no gradient for the data. `total` holds, per forward
 * value, the sum of what its readers have sent back so far; since readers come later in the list,
 * it is complete when the walk reaches the value's own node. A parameter's sum is complete when the
 * walk has passed its first reader, and its gradient is settled there, which is what puts gradients
 * of later layers first and makes their parts ready early. Within a node weights come before data:
 * the saved input then dies before the gradient that will take its place is made.
 *
 * A gradient must be a value of its own, because it gets its own place in the flat vector: one that
 * also serves another parameter, is not made by backward, or is only a view of other bytes, is
 * copied.
 *
 * A state tensor may be moved by several nodes, the calls of one layer. With r, the share of the old
 * state that stays, and the values b_1 .. b_c of its calls in their order, it becomes
 *     r^c s + (1 - r) (r^(c-1) b_1 + ... + r b_(c-1) + b_c),
 * which is one move with the momentum r^c to a mean of the b_i with fixed weights. So servers need
 * not know of calls.
 *
 * The order of everything appended is a function of the graph alone.
 */
#include "common/base/buf.h"
#include "graph/internal.h"
#include "graph/ops/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct walk {
    graph *g;
    int32_t n_nodes, n_values; /* of the forward part */
    graph_val weight;          /* as a scalar */
    bool *needs;               /* [n_values] */
    graph_val *total;          /* [n_values] */
    int32_t *first_reader;     /* [n_values] */
    int32_t *movers;           /* [n_values]: nodes that move a state tensor */
    int32_t *moved;            /* [n_values]: those of them that the walk has passed */
    graph_val *dout, *din;     /* of the node at hand */
    bool *want;
    buf refusals;
    int32_t n_refusals;
} walk;

static status check_ends(const graph *g, graph_val loss, graph_val weight, error *err)
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

/* The state tensor that a node moves by its input k, with the output that has its value for this
 * run; GRAPH_NONE if it moves none by that. */
static graph_val moved_state(const graph *g, const graph_node *n, int32_t k, graph_val *ret_from)
{
    const graph_op_info *info = graph_op_of(n->op);
    graph_val v = info->state ? n->in[k] : GRAPH_NONE;
    if (v == GRAPH_NONE || g->values[v].kind != VAL_PARAM ||
        g->values[v].param->kind != TENSOR_STATE)
        return GRAPH_NONE;
    *ret_from = info->state(g, n, k);
    return *ret_from == GRAPH_NONE ? GRAPH_NONE : v;
}

static void walk_init(walk *w, graph *g)
{
    *w = (walk){.g = g, .n_nodes = g->n_nodes, .n_values = g->n_values};
    w->needs = xcalloc((size_t)w->n_values, sizeof *w->needs);
    w->total = xcalloc((size_t)w->n_values, sizeof *w->total);
    w->first_reader = xcalloc((size_t)w->n_values, sizeof *w->first_reader);
    w->movers = xcalloc((size_t)w->n_values, sizeof *w->movers);
    w->moved = xcalloc((size_t)w->n_values, sizeof *w->moved);
    for (graph_val v = 0; v < w->n_values; v++) {
        const graph_value *value = &g->values[v];
        w->needs[v] = value->kind == VAL_PARAM && value->param->kind == TENSOR_TRAINABLE;
        w->total[v] = w->first_reader[v] = GRAPH_NONE;
    }
    int32_t most_in = 0, most_out = 0;
    for (int32_t i = 0; i < w->n_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        bool any = false;
        most_in = graph_node_slots(n) > most_in ? graph_node_slots(n) : most_in;
        most_out = n->n_out > most_out ? n->n_out : most_out;
        for (int32_t k = 0; k < n->n_in; k++) {
            graph_val v = n->in[k], ignored;
            if (v == GRAPH_NONE)
                continue;
            w->movers[v] += moved_state(g, n, k, &ignored) == v;
            any |= w->needs[v];
            if (w->first_reader[v] == GRAPH_NONE)
                w->first_reader[v] = i;
        }
        for (int32_t k = 0; k < n->n_out; k++) {
            if (n->out[k] != GRAPH_NONE)
                w->needs[n->out[k]] = any && has_gradient(g->values[n->out[k]].dtype);
        }
    }
    w->dout = xcalloc((size_t)most_out, sizeof *w->dout);
    w->din = xcalloc((size_t)most_in, sizeof *w->din);
    w->want = xcalloc((size_t)most_in, sizeof *w->want);
}

static void walk_fini(walk *w)
{
    free(w->needs);
    free(w->total);
    free(w->first_reader);
    free(w->movers);
    free(w->moved);
    free(w->dout);
    free(w->din);
    free(w->want);
    buf_fini(&w->refusals);
}

static void refuse(walk *w, const graph_node *n, const char *why)
{
    buf_addf(&w->refusals, "%s%s (%s): %s", w->n_refusals ? "; " : "", n->name,
             graph_op_of(n->op)->name, why);
    w->n_refusals++;
}

/* Whether `d`, which the node at hand has just sent back, can be added to `base` by its maker:
 * nobody else has it yet. */
static bool takes_base(const walk *w, int32_t first_new, graph_val d, graph_val base)
{
    int32_t def = w->g->values[d].def;
    if (def == GRAPH_NONE || def < first_new || w->g->values[base].def >= def)
        return false;
    const graph_node *maker = &w->g->nodes[def];
    return graph_op_of(maker->op)->traits & OP_ADDS &&
           maker->in[graph_node_slots(maker) - 1] == GRAPH_NONE;
}

/* Nodes from first_new on belong to the gradient of the node at hand. */
static status add_to_total(walk *w, int32_t first_new, graph_val v, graph_val d, error *err)
{
    graph_val total = w->total[v];
    w->total[v] = d;
    if (total == GRAPH_NONE)
        return OK;
    if (!takes_base(w, first_new, d, total))
        return emit_2(w->g, OP_ADD, total, d, NULL, &w->total[v], err);
    graph_node *maker = &w->g->nodes[w->g->values[d].def];
    maker->n_in = graph_node_slots(maker);
    maker->in[maker->n_in - 1] = total;
    return OK;
}

/* Fills dout and want; false if no gradient arrives at the node or nobody wants one from it. */
static bool takes_part(walk *w, const graph_node *n)
{
    bool any_dout = false, any_want = false;
    for (int32_t k = 0; k < n->n_out; k++) {
        w->dout[k] = n->out[k] == GRAPH_NONE ? GRAPH_NONE : w->total[n->out[k]];
        any_dout |= w->dout[k] != GRAPH_NONE;
    }
    for (int32_t k = 0; k < graph_node_slots(n); k++) {
        w->want[k] = n->in[k] != GRAPH_NONE && w->needs[n->in[k]];
        any_want |= w->want[k];
        w->din[k] = GRAPH_NONE;
    }
    return any_dout && any_want;
}

/* Sends the gradients of a node's outputs to its inputs. */
static status pass_node(walk *w, int32_t node, error *err)
{
    graph_node n = w->g->nodes[node];
    int32_t first_new = w->g->n_nodes;
    if (!takes_part(w, &n))
        return OK;
    const graph_op_info *info = graph_op_of(n.op);
    if (!info->grad) {
        refuse(w, &n, "this operator has no gradient");
        return OK;
    }
    error why = ERROR_INIT;
    status st = info->grad(&(graph_gradient){w->g, n, w->dout, w->want, w->din}, &why);
    if (st == E_UNSUPPORTED) {
        refuse(w, &n, why.text);
        return OK;
    }
    if (st != OK)
        return FAIL(err, st, "gradient of %s (%s): %s", n.name, info->name, why.text);
    for (int32_t k = 0; k < n.n_in; k++) {
        if (!w->want[k])
            continue;
        graph_val d = w->din[k];
        BUG_ON(d == GRAPH_NONE);
        BUG_ON(!graph_shape_equal(&w->g->values[d].shape, &w->g->values[n.in[k]].shape));
        TRY(add_to_total(w, first_new, n.in[k], d, err));
    }
    return OK;
}

static double power(double x, int32_t n)
{
    double y = 1.0;
    while (n-- > 0)
        y *= x;
    return y;
}

/* The weight of a call among those of one layer, by how many come after it. */
static float share_of_call(float momentum, int32_t calls, int32_t later)
{
    double stays = (double)momentum, all = 1.0 - power(stays, calls);
    if (all == 0.0)
        return later == 0 ? 1.0f : 0.0f; /* nothing moves it */
    return (float)((1.0 - stays) * power(stays, later) / all);
}

/* State tensors take this batch's value, times the slot's share of the step. The walk meets the
 * last call of a layer first. */
static status pass_state(walk *w, int32_t node, error *err)
{
    graph_node n = w->g->nodes[node];
    for (int32_t k = 0; k < n.n_in; k++) {
        graph_val from, v = moved_state(w->g, &n, k, &from);
        if (v == GRAPH_NONE)
            continue;
        float momentum = w->g->values[v].param->momentum;
        float share = share_of_call(momentum, w->movers[v], w->moved[v]++);
        TRY(emit_scale(w->g, from, share, &from, err));
        if (w->total[v] != GRAPH_NONE)
            TRY(emit_2(w->g, OP_ADD, from, w->total[v], NULL, &from, err));
        w->total[v] = from;
        if (w->moved[v] < w->movers[v])
            continue;
        TRY(emit_2(w->g, OP_MUL, from, w->weight, NULL, &from, err));
        w->g->values[v].grad = from;
    }
    return OK;
}

/* All calls of a step are one move. */
static void join_moves(const walk *w)
{
    for (graph_val v = 0; v < w->n_values; v++) {
        if (w->movers[v] < 2)
            continue;
        tensor_decl *joined = arena_alloc(w->g->arena, sizeof *joined);
        *joined = *w->g->values[v].param;
        joined->momentum = (float)power((double)joined->momentum, w->movers[v]);
        w->g->values[v].param = joined;
    }
}

static bool is_taken(const walk *w, graph_val d)
{
    for (graph_val v = 0; v < w->n_values; v++) {
        if (w->g->values[v].grad == d)
            return true;
    }
    return false;
}

static bool can_own(const walk *w, graph_val d)
{
    const graph_value *value = &w->g->values[d];
    if (d < w->n_values || value->kind != VAL_TEMP)
        return false;
    if (graph_op_of(w->g->nodes[value->def].op)->traits & OP_ALIAS)
        return false;
    return !is_taken(w, d);
}

/* Settles the gradients of the parameters whose first reader is this node. */
static status settle_params(walk *w, int32_t node, error *err)
{
    graph_node n = w->g->nodes[node];
    for (int32_t k = 0; k < n.n_in; k++) {
        graph_val v = n.in[k];
        if (v == GRAPH_NONE || w->g->values[v].kind != VAL_PARAM || w->first_reader[v] != node)
            continue;
        graph_val d = w->total[v];
        if (d == GRAPH_NONE || w->g->values[v].grad != GRAPH_NONE)
            continue;
        if (!can_own(w, d))
            TRY(emit_1(w->g, OP_IDENTITY, d, NULL, &d, err));
        w->g->values[v].grad = d;
    }
    return OK;
}

/* Parameters the loss does not depend on, and state no node moves. */
static status settle_rest(walk *w, error *err)
{
    for (graph_val v = 0; v < w->n_values; v++) {
        graph_value value = w->g->values[v];
        if (value.kind != VAL_PARAM || value.grad != GRAPH_NONE ||
            value.param->kind == TENSOR_FROZEN)
            continue;
        w->g->prefix = value.name;
        graph_val own;
        if (value.param->kind == TENSOR_STATE)
            TRY(emit_2(w->g, OP_MUL, v, w->weight, NULL, &own, err));
        else
            TRY(emit_zero(w->g, &value.shape, &own, err));
        w->g->values[v].grad = own;
    }
    return OK;
}

static status append_gradients(walk *w, graph_val loss, graph_val weight, error *err)
{
    graph *g = w->g;
    graph_shape loss_shape = g->values[loss].shape;
    g->prefix = g->values[loss].name;
    TRY(emit_reshape(g, weight, &(graph_shape){.rank = 0}, &w->weight, err));
    TRY(emit_reshape(g, w->weight, &loss_shape, &w->total[loss], err));
    for (int32_t i = w->n_nodes - 1; i >= 0; i--) {
        g->prefix = g->nodes[i].name;
        TRY(pass_node(w, i, err));
        TRY(pass_state(w, i, err));
        TRY(settle_params(w, i, err));
    }
    TRY(settle_rest(w, err));
    if (w->n_refusals)
        return FAIL(err, E_UNSUPPORTED, "no gradient for %" PRId32 " node%s: %s", w->n_refusals,
                    w->n_refusals == 1 ? "" : "s", w->refusals.data);
    return OK;
}

/* What is read, from the gradients backwards. Everything of forward stays. */
static void mark_live(const walk *w, bool *live)
{
    const graph *g = w->g;
    for (graph_val v = 0; v < w->n_values; v++) {
        live[v] = true;
        if (g->values[v].grad != GRAPH_NONE)
            live[g->values[v].grad] = true;
    }
    for (int32_t i = g->n_nodes - 1; i >= w->n_nodes; i--) {
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

/* Drops what nobody reads and closes the gaps. */
static void drop_dead(walk *w)
{
    graph *g = w->g;
    bool *live = xcalloc((size_t)g->n_values, sizeof *live);
    graph_val *to = xcalloc((size_t)g->n_values, sizeof *to);
    int32_t n_values = 0, n_nodes = w->n_nodes;
    mark_live(w, live);
    for (graph_val v = 0; v < g->n_values; v++) {
        to[v] = live[v] ? n_values : GRAPH_NONE;
        if (live[v])
            g->values[n_values++] = g->values[v];
    }
    for (int32_t i = w->n_nodes; i < g->n_nodes; i++) {
        graph_node n = g->nodes[i];
        bool any = false;
        for (int32_t k = 0; k < n.n_out; k++) {
            renumber(&n.out[k], to);
            any |= n.out[k] != GRAPH_NONE;
        }
        if (!any)
            continue;
        for (int32_t k = 0; k < n.n_in; k++)
            renumber(&n.in[k], to);
        for (int32_t k = 0; k < n.n_out; k++) {
            if (n.out[k] != GRAPH_NONE)
                g->values[n.out[k]].def = n_nodes;
        }
        g->nodes[n_nodes++] = n;
    }
    for (graph_val v = 0; v < w->n_values; v++)
        renumber(&g->values[v].grad, to);
    g->n_values = n_values;
    g->n_nodes = n_nodes;
    free(live);
    free(to);
}

static void take_back(walk *w)
{
    w->g->n_nodes = w->n_nodes;
    w->g->n_values = w->n_values;
    for (graph_val v = 0; v < w->n_values; v++)
        w->g->values[v].grad = GRAPH_NONE;
}

status graph_backward(graph *g, graph_val loss, graph_val weight, error *err)
{
    walk w;
    TRY(check_ends(g, loss, weight, err));
    walk_init(&w, g);
    status st = append_gradients(&w, loss, weight, err);
    g->prefix = NULL;
    if (st == OK) {
        join_moves(&w);
        drop_dead(&w);
        g->has_backward = true;
    } else {
        take_back(&w);
    }
    graph_reindex(g);
    walk_fini(&w);
    return st;
}
