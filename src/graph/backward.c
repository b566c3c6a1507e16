/*
 * Backward: what the chain rule (chain.h) leaves becomes the gradients of parameters and the values of
 * state tensors.
 *
 * A parameter's sum is complete when the walk has passed its first reader, and its gradient is settled
 * there, which is what puts gradients of later layers first and makes their parts ready early. Within a
 * node weights come before data: the saved input then dies before the gradient that will take its place
 * is made.
 *
 * A gradient must be a value of its own, because it gets its own place in the flat vector: one that
 * also serves another parameter, is not made by backward, or is only a view of other bytes, is
 * copied.
 *
 * A state tensor may be moved by several nodes, the calls of one layer. With r, the share of the old
 * state that stays, and the values b_1 .. b_c of its calls in their order, it becomes
 *     r^c s + (1 - r) (r^(c-1) b_1 + ... + r b_(c-1) + b_c),
 * which is one move with the momentum r^c to a mean of the b_i with fixed weights. So servers need
 * not know of calls. Nodes of the second pass of SAM (sam.h) move nothing.
 *
 * The order of everything appended is a function of the graph alone.
 */
#include "graph/chain.h"
#include "graph/ops/emit.h"
#include "graph/sam.h"

#include <stdlib.h>

typedef struct walk {
    chain c;
    int32_t n_forward;         /* nodes of the first pass */
    int32_t *first_reader;     /* [n_values] */
    int32_t *movers;           /* [n_values]: nodes that move a state tensor */
    int32_t *moved;            /* [n_values]: those of them that the walk has passed */
} walk;

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

static void note_readers(walk *w, int32_t node)
{
    const graph_node *n = &w->c.g->nodes[node];
    for (int32_t k = 0; k < n->n_in; k++) {
        graph_val v = n->in[k], ignored;
        if (v == GRAPH_NONE)
            continue;
        w->movers[v] += moved_state(w->c.g, n, k, &ignored) == v;
        if (w->first_reader[v] == GRAPH_NONE)
            w->first_reader[v] = node;
    }
}

static void walk_init(walk *w, graph *g, int32_t n_forward, value_range constant)
{
    size_t n = (size_t)g->n_values;
    *w = (walk){.n_forward = n_forward};
    chain_init(&w->c, g, constant);
    w->first_reader = xcalloc(n, sizeof *w->first_reader);
    w->movers = xcalloc(n, sizeof *w->movers);
    w->moved = xcalloc(n, sizeof *w->moved);
    for (graph_val v = 0; v < g->n_values; v++)
        w->first_reader[v] = GRAPH_NONE;
    for (int32_t i = 0; i < n_forward; i++)
        note_readers(w, i);
}

static void walk_fini(walk *w)
{
    chain_fini(&w->c);
    free(w->first_reader);
    free(w->movers);
    free(w->moved);
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
    graph_node n = w->c.g->nodes[node];
    for (int32_t k = 0; k < n.n_in; k++) {
        graph_val from, v = moved_state(w->c.g, &n, k, &from);
        if (v == GRAPH_NONE)
            continue;
        float momentum = w->c.g->values[v].param->momentum;
        float share = share_of_call(momentum, w->movers[v], w->moved[v]++);
        TRY(emit_scale(w->c.g, from, share, &from, err));
        if (w->c.total[v] != GRAPH_NONE)
            TRY(emit_2(w->c.g, OP_ADD, from, w->c.total[v], NULL, &from, err));
        w->c.total[v] = from;
        if (w->moved[v] < w->movers[v])
            continue;
        TRY(emit_2(w->c.g, OP_MUL, from, w->c.weight, NULL, &from, err));
        w->c.g->values[v].grad = from;
    }
    return OK;
}

/* All calls of a step are one move. */
static void join_moves(const walk *w)
{
    for (graph_val v = 0; v < w->c.n_values; v++) {
        if (w->movers[v] < 2)
            continue;
        tensor_decl *joined = arena_alloc(w->c.g->arena, sizeof *joined);
        *joined = *w->c.g->values[v].param;
        joined->momentum = (float)power((double)joined->momentum, w->movers[v]);
        w->c.g->values[v].param = joined;
    }
}

static bool is_taken(const walk *w, graph_val d)
{
    for (graph_val v = 0; v < w->c.n_values; v++) {
        if (w->c.g->values[v].grad == d)
            return true;
    }
    return false;
}

static bool can_own(const walk *w, graph_val d)
{
    const graph_value *value = &w->c.g->values[d];
    if (d < w->c.n_values || value->kind != VAL_TEMP)
        return false;
    if (graph_op_of(w->c.g->nodes[value->def].op)->traits & OP_ALIAS)
        return false;
    return !is_taken(w, d);
}

/* Settles the gradients of the parameters whose first reader is this node. */
static status settle_params(walk *w, int32_t node, error *err)
{
    graph_node n = w->c.g->nodes[node];
    for (int32_t k = 0; k < n.n_in; k++) {
        graph_val v = n.in[k];
        if (v == GRAPH_NONE || w->c.g->values[v].kind != VAL_PARAM || w->first_reader[v] != node)
            continue;
        graph_val d = w->c.total[v];
        if (d == GRAPH_NONE || w->c.g->values[v].grad != GRAPH_NONE)
            continue;
        if (!can_own(w, d))
            TRY(emit_1(w->c.g, OP_IDENTITY, d, NULL, &d, err));
        w->c.g->values[v].grad = d;
    }
    return OK;
}

/* Parameters the loss does not depend on, and state no node moves. */
static status settle_rest(walk *w, error *err)
{
    for (graph_val v = 0; v < w->c.n_values; v++) {
        graph_value value = w->c.g->values[v];
        if (value.kind != VAL_PARAM || value.grad != GRAPH_NONE ||
            value.param->kind == TENSOR_FROZEN)
            continue;
        w->c.g->prefix = value.name;
        graph_val own;
        if (value.param->kind == TENSOR_STATE)
            TRY(emit_2(w->c.g, OP_MUL, v, w->c.weight, NULL, &own, err));
        else
            TRY(emit_zero(w->c.g, &value.shape, &own, err));
        w->c.g->values[v].grad = own;
    }
    return OK;
}

static status append_gradients(walk *w, graph_val loss, graph_val weight, error *err)
{
    TRY(chain_begin(&w->c, loss, weight, err));
    for (int32_t i = w->c.n_nodes - 1; i >= 0; i--) {
        TRY(chain_pass(&w->c, i, err));
        if (i >= w->n_forward)
            continue;
        TRY(pass_state(w, i, err));
        TRY(settle_params(w, i, err));
    }
    TRY(settle_rest(w, err));
    return chain_refusals(&w->c, err);
}

/* What is appended and leads to no gradient. */
static void drop_dead(const walk *w)
{
    graph *g = w->c.g;
    bool *live = xcalloc((size_t)g->n_values, sizeof *live);
    graph_val *to = xcalloc((size_t)g->n_values, sizeof *to);
    for (graph_val v = 0; v < w->c.n_values; v++) {
        if (g->values[v].grad != GRAPH_NONE)
            live[g->values[v].grad] = true;
    }
    graph_drop_dead(g, w->c.n_nodes, w->c.n_values, live, to);
    free(live);
    free(to);
}

static status settle(graph *g, int32_t n_forward, const sam_pass *second, graph_val weight, error *err)
{
    walk w;
    walk_init(&w, g, n_forward, second->constant);
    status st = append_gradients(&w, second->loss, weight, err);
    if (st == OK) {
        join_moves(&w);
        drop_dead(&w);
    }
    walk_fini(&w);
    return st;
}

static void take_back(graph *g, int32_t n_nodes, int32_t n_values)
{
    g->n_nodes = n_nodes;
    g->n_values = n_values;
    for (graph_val v = 0; v < n_values; v++)
        g->values[v].grad = GRAPH_NONE;
}

/* `sam` may be NULL. */
static status backward(graph *g, graph_val loss, graph_val weight, const graph_sam *sam, error *err)
{
    TRY(chain_check_ends(g, loss, weight, err));
    const int32_t n_nodes = g->n_nodes, n_values = g->n_values;
    sam_pass second = {.loss = loss};
    status st = sam ? sam_append(g, loss, weight, sam, &second, err) : OK;
    if (st == OK)
        st = settle(g, n_nodes, &second, weight, err);
    g->prefix = NULL;
    g->has_backward = st == OK;
    g->n_forward = n_nodes;
    if (st != OK)
        take_back(g, n_nodes, n_values);
    graph_reindex(g);
    return st;
}

status graph_backward(graph *g, graph_val loss, graph_val weight, error *err)
{
    return backward(g, loss, weight, NULL, err);
}

status graph_backward_sam(graph *g, graph_val loss, graph_val weight, const graph_sam *sam, error *err)
{
    return backward(g, loss, weight, sam, err);
}
