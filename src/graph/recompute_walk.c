#include "graph/recompute_walk.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { FLOPS_A_BYTE = 16 }; /* that take as long as a byte: about, of processors and GPUs alike */

/* --- what there is --- */

static size_t value_bytes(const recompute_walk *w, graph_val v)
{
    const graph_value *value = graph_value_at(w->g, v);
    return w->plan->value_bytes ? w->plan->value_bytes[v]
                                : (size_t)graph_shape_elements(&value->shape) * dtype_bytes(value->dtype);
}

static bool is_of_forward(const recompute_walk *w, graph_val v)
{
    const graph_value *value = graph_value_at(w->g, v);
    return value->kind == VAL_TEMP && value->def < w->n_forward;
}

/* Kept values and gradients of parameters have places of their own, all the time. */
static void find_bytes(recompute_walk *w)
{
    for (graph_val v = 0; v < w->n_values; v++) {
        const graph_value *value = graph_value_at(w->g, v);
        if (value->kind == VAL_TEMP && !value->keep)
            w->bytes[v] = size_round_up(value_bytes(w, v), PLAN_ALIGN);
        w->can_drop[v] = is_of_forward(w, v) && !value->keep;
    }
    for (graph_val v = 0; v < w->n_values; v++) {
        graph_val grad = graph_value_at(w->g, v)->grad;
        if (grad != GRAPH_NONE) {
            w->bytes[grad] = 0;
            w->can_drop[grad] = false;
        }
    }
}

/* As the plan joins views. */
static graph_val source_of(const recompute_walk *w, int32_t node)
{
    const graph_node *n = graph_node_at(w->g, node);
    const plan_options *o = w->plan;
    graph_val to = n->out[0], from = GRAPH_NONE;
    if (to == GRAPH_NONE || !w->bytes[to])
        return GRAPH_NONE;
    if (o->same_as && o->same_as[to] != GRAPH_NONE)
        from = o->same_as[to];
    else if (graph_op_of(n->op)->traits & OP_ALIAS && !(o->no_alias && o->no_alias[node]))
        from = n->in[0];
    return from != GRAPH_NONE && value_bytes(w, from) == value_bytes(w, to) ? from : GRAPH_NONE;
}

/* Who shows bytes of another stays and goes with it. */
static void find_views(recompute_walk *w, const bool *fixed)
{
    for (graph_val v = 0; v < w->n_values; v++)
        w->shows[v] = v;
    for (int32_t i = 0; i < w->n_nodes; i++) {
        const graph_node *n = graph_node_at(w->g, i);
        w->source[i] = source_of(w, i);
        if (w->source[i] != GRAPH_NONE)
            w->shows[n->out[0]] = w->shows[w->source[i]];
        for (int32_t k = 0; k < n->n_out; k++)
            if (n->out[k] != GRAPH_NONE && i < w->n_forward &&
                ((fixed && fixed[i]) || !w->can_drop[n->out[k]]))
                w->can_drop[w->shows[n->out[k]]] = false;
    }
}

static void find_needs(recompute_walk *w)
{
    for (int32_t i = w->n_forward; i < w->n_nodes; i++) {
        const graph_node *n = graph_node_at(w->g, i);
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k] != GRAPH_NONE)
                w->is_needed[w->shows[n->in[k]]] = true;
    }
    for (graph_val v = 0; v < w->n_values; v++)
        w->dropped[v] = w->can_drop[v] && !w->is_needed[v];
}

/* Nodes that one kernel does stay together: what any of them reads of copies is there before the first. */
static void find_places(recompute_walk *w)
{
    const int32_t *turn = w->plan->runs_at;
    int32_t *first = xcalloc((size_t)w->n_nodes + 1, sizeof *first);
    for (int32_t i = w->n_nodes - 1; i >= w->n_forward; i--)
        first[turn ? turn[i] : i] = i;
    for (int32_t i = w->n_forward; i < w->n_nodes; i++)
        w->place[i] = first[turn ? turn[i] : i];
    free(first);
}

static void find_moved(recompute_walk *w)
{
    for (int32_t i = 0; i < w->n_nodes; i++) {
        const graph_node *n = graph_node_at(w->g, i);
        if (w->source[i] != GRAPH_NONE)
            continue;
        for (int32_t k = 0; k < n->n_in; k++)
            w->moved[i] += n->in[k] == GRAPH_NONE ? 0 : (double)value_bytes(w, n->in[k]);
        for (int32_t k = 0; k < n->n_out; k++)
            w->moved[i] += n->out[k] == GRAPH_NONE ? 0 : (double)value_bytes(w, n->out[k]);
    }
}

void recompute_walk_init(recompute_walk *w, const graph *g, const recompute_options *o)
{
    *w = (recompute_walk){.g = g,
                          .plan = o->plan,
                          .n_values = graph_n_values(g),
                          .n_nodes = graph_n_nodes(g),
                          .n_forward = graph_n_forward(g)};
    size_t n_values = (size_t)w->n_values + 1, n_nodes = (size_t)w->n_nodes + 1;
    w->bytes = xcalloc(n_values, sizeof *w->bytes);
    w->source = xcalloc(n_nodes, sizeof *w->source);
    w->shows = xcalloc(n_values, sizeof *w->shows);
    w->can_drop = xcalloc(n_values, sizeof *w->can_drop);
    w->is_needed = xcalloc(n_values, sizeof *w->is_needed);
    w->dropped = xcalloc(n_values, sizeof *w->dropped);
    w->place = xcalloc(n_nodes, sizeof *w->place);
    w->moved = xcalloc(n_nodes, sizeof *w->moved);
    w->again = xcalloc(n_nodes, sizeof *w->again);
    w->steps = xcalloc(2 * n_nodes, sizeof *w->steps);
    w->first = xcalloc(2 * n_values, sizeof *w->first);
    w->last = xcalloc(2 * n_values, sizeof *w->last);
    w->owner = xcalloc(2 * n_values, sizeof *w->owner);
    w->over = xcalloc(2 * n_nodes, sizeof *w->over);
    w->under = xcalloc(2 * n_nodes, sizeof *w->under);
    w->change = xcalloc(2 * n_nodes, sizeof *w->change);
    w->stack = xcalloc(n_nodes, sizeof *w->stack);
    w->found = xcalloc(n_nodes, sizeof *w->found);
    find_bytes(w);
    find_views(w, o->fixed);
    find_needs(w);
    find_places(w);
    find_moved(w);
}

void recompute_walk_fini(recompute_walk *w)
{
    void *all[] = {w->bytes, w->source, w->shows, w->can_drop, w->is_needed, w->dropped, w->place, w->moved, w->again,
                   w->steps, w->first,  w->last,  w->owner,    w->over,      w->under,   w->change, w->stack, w->found};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        free(all[i]);
}

/* --- the steps --- */

bool recompute_reads_copy(const recompute_walk *w, graph_val v)
{
    return w->dropped[w->shows[v]] && is_of_forward(w, v);
}

static void want_inputs(recompute_walk *w, int32_t node, int32_t *n_stack)
{
    const graph_node *n = graph_node_at(w->g, node);
    for (int32_t k = 0; k < n->n_in; k++) {
        graph_val v = n->in[k];
        if (v == GRAPH_NONE || !recompute_reads_copy(w, v))
            continue;
        int32_t maker = graph_value_at(w->g, v)->def;
        if (w->again[maker])
            continue;
        w->again[maker] = true;
        w->stack[(*n_stack)++] = maker;
    }
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* All that the node reads of copies and that is not there yet, in the order of forward. */
static void bring_copies(recompute_walk *w, int32_t node)
{
    int32_t n_stack = 0, n_found = 0;
    want_inputs(w, node, &n_stack);
    while (n_stack) {
        int32_t maker = w->stack[--n_stack];
        w->found[n_found++] = maker;
        want_inputs(w, maker, &n_stack);
    }
    qsort(w->found, (size_t)n_found, sizeof *w->found, ascending);
    for (int32_t i = 0; i < n_found; i++) {
        w->steps[w->n_steps++] = (recompute_step){w->found[i], true};
        if (w->moved[w->found[i]] > 0)
            w->cost += w->moved[w->found[i]] + graph_node_flops(w->g, w->found[i]) / FLOPS_A_BYTE;
    }
}

static void list_steps(recompute_walk *w)
{
    w->n_steps = 0;
    w->cost = 0;
    memset(w->again, 0, (size_t)w->n_nodes * sizeof *w->again);
    for (int32_t i = 0; i < w->n_nodes; i++) {
        int32_t end = i < w->n_forward ? i : w->plan->runs_at ? w->plan->runs_at[i] + 1 : i + 1;
        for (int32_t k = i; k < end; k++)
            if (w->place[k] == i)
                bring_copies(w, k);
        w->steps[w->n_steps++] = (recompute_step){i, false};
    }
}

/* --- what is alive --- */

/* What the step reads where its node reads v: the value, or its copy. */
static int32_t read_by(const recompute_walk *w, recompute_step s, graph_val v)
{
    bool later = s.again || s.node >= w->n_forward;
    return later && recompute_reads_copy(w, v) ? w->n_values + v : v;
}

/* Whose bytes that are; GRAPH_NONE: of none in the slab. */
static int32_t read_bytes(const recompute_walk *w, recompute_step s, graph_val v)
{
    int32_t owner = v == GRAPH_NONE ? GRAPH_NONE : w->owner[read_by(w, s, v)];
    return owner == GRAPH_NONE || !w->bytes[owner % w->n_values] ? GRAPH_NONE : owner;
}

/* The bytes that output 0 shows, if they are there; or its own. */
static int32_t shown_bytes(const recompute_walk *w, recompute_step s, int32_t own)
{
    graph_val from = w->source[s.node];
    int32_t owner = from == GRAPH_NONE ? own : w->owner[read_by(w, s, from)];
    return w->first[owner] != GRAPH_NONE || !w->bytes[owner % w->n_values] ? owner : own;
}

static void live_step(recompute_walk *w, int32_t t)
{
    const recompute_step s = w->steps[t];
    const graph_node *n = graph_node_at(w->g, s.node);
    int32_t slot = graph_node_inplace(n), copies = s.again ? w->n_values : 0;
    w->over[t] = w->under[t] = GRAPH_NONE;
    for (int32_t k = 0; k < n->n_in; k++) {
        int32_t owner = read_bytes(w, s, n->in[k]);
        if (owner != GRAPH_NONE)
            w->last[owner] = t;
    }
    for (int32_t k = 0; k < n->n_out; k++) {
        if (n->out[k] == GRAPH_NONE)
            continue;
        int32_t v = copies + n->out[k];
        w->owner[v] = k == 0 ? shown_bytes(w, s, v) : v;
        if (w->owner[v] == v)
            w->first[v] = w->last[v] = t;
    }
    if (slot == GRAPH_NONE || (w->plan->no_inplace && w->plan->no_inplace[s.node]) || n->out[0] == GRAPH_NONE)
        return;
    w->under[t] = read_bytes(w, s, n->in[slot]);
    w->over[t] = copies + n->out[0];
}

/* An output that takes the place of an input that dies there begins behind it. */
static void run_in_place(recompute_walk *w, int32_t t)
{
    int32_t under = w->under[t], over = w->over[t];
    if (under != GRAPH_NONE && w->owner[over] == over && w->last[under] == t &&
        w->bytes[under % w->n_values] == w->bytes[over % w->n_values])
        w->first[over] = t + 1;
}

static void find_lives(recompute_walk *w)
{
    for (int32_t v = 0; v < 2 * w->n_values; v++) {
        w->first[v] = w->last[v] = GRAPH_NONE;
        w->owner[v] = v;
    }
    for (int32_t t = 0; t < w->n_steps; t++)
        live_step(w, t);
    for (int32_t t = 0; t < w->n_steps; t++)
        run_in_place(w, t);
}

void recompute_walk_take(recompute_walk *w, size_t target)
{
    list_steps(w);
    find_lives(w);
    memset(w->change, 0, ((size_t)w->n_steps + 2) * sizeof *w->change);
    for (int32_t v = 0; v < 2 * w->n_values; v++) {
        if (w->first[v] == GRAPH_NONE || w->owner[v] != v || w->last[v] < w->first[v])
            continue;
        w->change[w->first[v]] += (int64_t)w->bytes[v % w->n_values];
        w->change[w->last[v] + 1] -= (int64_t)w->bytes[v % w->n_values];
    }
    int64_t alive = 0;
    w->excess = 0;
    w->most = 0;
    for (int32_t t = 0; t < w->n_steps; t++) {
        alive += w->change[t];
        w->most = (size_t)alive > w->most ? (size_t)alive : w->most;
        w->excess += (size_t)alive > target ? (double)((size_t)alive - target) : 0;
    }
}
