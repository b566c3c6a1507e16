/*
 * The nodes are walked in order. One that continues an open group joins it; the latest if there are
 * several. Otherwise it opens one, if chains can begin with it; what is still alone at the end is
 * no group.
 */
#include "backend/cuda/load/fuse.h"

#include "backend/cuda/load/storage.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "common/base/log.h"

#include <stdlib.h>

/* A group makes what it reads live until its end, and parts of the weights wait for it. */
enum { MOST_APART = 24 };

enum { GRADIENTS = 4 }; /* the input of a BATCH_NORMALIZATION_BWD */

typedef struct fuser {
    backend_program *p;
    const graph *g;
    int32_t *n_readers; /* by value */
    int32_t *n_seen;    /* likewise, with readers of what is computed again of it */
    bool *is_grad;      /* by value: of a parameter */
} fuser;

static cuda_group *group_of(const fuser *f, graph_val v)
{
    int32_t def = v == GRAPH_NONE ? GRAPH_NONE : graph_value_at(f->g, v)->def;
    return def == GRAPH_NONE ? NULL : (cuda_group *)f->p->group[def];
}

static bool is_view(const fuser *f, int32_t node)
{
    const graph_node *n = graph_node_at(f->g, node);
    return graph_op_of(n->op)->traits & OP_ALIAS && !storage_moves(&f->p->nodes[node]) &&
           f->p->storage[n->in[0]].type == f->p->storage[n->out[0]].type;
}

/* What v shows, through views that nothing else reads. */
static graph_val seen_through(const fuser *f, graph_val v)
{
    while (v != GRAPH_NONE) {
        const graph_value *value = graph_value_at(f->g, v);
        if (value->def == GRAPH_NONE || !is_view(f, value->def) || value->keep || f->is_grad[v] ||
            f->n_readers[v] != 1)
            return v;
        graph_val from = graph_node_at(f->g, value->def)->in[0];
        if (f->n_readers[from] != 1)
            return v;
        v = from;
    }
    return v;
}

/* --- what a group may take --- */

static bool makes_kept(const fuser *f, const cuda_group *group)
{
    for (int32_t i = group->first; i <= group->last; i++) {
        const graph_node *n = graph_node_at(f->g, i);
        for (int32_t k = 0; f->p->group[i] == group && k < n->n_out; k++)
            if (n->out[k] != GRAPH_NONE && graph_value_at(f->g, n->out[k])->keep)
                return true;
    }
    return false;
}

static bool reads_of(const fuser *f, int32_t node, const cuda_group *group, int32_t but_slot)
{
    const graph_node *n = graph_node_at(f->g, node);
    for (int32_t k = 0; k < n->n_in; k++)
        if (k != but_slot && group_of(f, n->in[k]) == group)
            return true;
    return false;
}

/* Whether nobody else reads of the group before the node, which views may stand in front of. */
static bool can_wait(const fuser *f, const cuda_group *group, int32_t node, int32_t slot)
{
    graph_val next = graph_node_at(f->g, node)->in[slot];
    for (int32_t i = node; i > group->first; i--) {
        bool is_view_between = next != GRAPH_NONE && graph_value_at(f->g, next)->def == i;
        if (is_view_between && f->p->group[i] != group) {
            next = graph_node_at(f->g, i)->in[0];
            continue;
        }
        if (f->p->group[i] != group && reads_of(f, i, group, i == node ? slot : GRAPH_NONE))
            return false;
    }
    return !makes_kept(f, group);
}

static bool is_light(const fuser *f, const fused_steps *steps)
{
    for (int32_t i = 0; i < steps->n; i++)
        if (!cuda_chain_takes(f->p, steps->at[i].node, steps->at[i].slot, true))
            return false;
    return true;
}

static bool is_float(const fuser *f, graph_val v)
{
    return v != GRAPH_NONE && f->p->storage[v].type == DT_F32;
}

static bool is_matmul(const fuser *f, int32_t node)
{
    graph_op op = graph_node_at(f->g, node)->op;
    return op == OP_GEMM || op == OP_MATMUL;
}

/* The input that a chain in front makes, or GRAPH_NONE. Rows of halves have no kernels with chains.
 */
static int32_t slot_before(const fuser *f, int32_t node)
{
    const graph_node *n = graph_node_at(f->g, node);
    switch (n->op) {
    case OP_LAYER_NORMALIZATION:
    case OP_RMS_NORMALIZATION:
        return is_float(f, n->in[0]) ? 0 : GRAPH_NONE;
    case OP_BATCH_NORMALIZATION_BWD:
        return GRADIENTS;
    default:
        return GRAPH_NONE;
    }
}

static bool has_chain_behind(const fuser *f, int32_t node)
{
    const graph_node *n = graph_node_at(f->g, node);
    if (n->out[0] == GRAPH_NONE || storage_moves(&f->p->nodes[node]) ||
        cuda_node_is_empty(&f->p->nodes[node]) ||
        graph_shape_elements(&graph_value_at(f->g, n->out[0])->shape) == 0)
        return false;
    switch (n->op) {
    case OP_GEMM:
    case OP_MATMUL: /* a copy has the bits of what ran alone */
        return graph_original(f->g, n->out[0]) == n->out[0];
    case OP_BATCH_NORMALIZATION:
        return true;
    case OP_LAYER_NORMALIZATION_BWD:
    case OP_RMS_NORMALIZATION_BWD:
        return is_float(f, n->out[0]);
    default:
        return false;
    }
}

/* --- Relu behind a norm, backward --- */

static const graph_node *maker_of(const fuser *f, graph_val v)
{
    int32_t def = graph_value_at(f->g, v)->def;
    return def == GRAPH_NONE ? NULL : graph_node_at(f->g, def);
}

static bool is_gradient_of(const graph_node *bwd, const graph_node *norm)
{
    const batch_norm_attr *a = norm->attr, *b = bwd->attr;
    const graph_val *statistics = a->training ? &norm->out[1] : &norm->in[3];
    return norm->op == OP_BATCH_NORMALIZATION && a->training == b->training &&
           a->epsilon == b->epsilon && bwd->in[0] == norm->in[0] && bwd->in[1] == norm->in[1] &&
           bwd->in[2] == statistics[0] && bwd->in[3] == statistics[1];
}

static bool are_stored_alike(const fuser *f, const graph_val *v, size_t n)
{
    bool alike = true;
    for (size_t i = 1; i < n; i++)
        alike &= f->p->storage[v[i]].type == f->p->storage[v[0]].type;
    return alike;
}

/* The norm that this gradient is of, if all that stands in front is the gradient of a Relu of what
 * it makes: one that nobody else reads, and that tells by signs alone, which rounding to one type
 * and no other leaves as they are. */
static int32_t relu_of(const fuser *f, const cuda_group *group, int32_t node)
{
    const graph_node *bwd = graph_node_at(f->g, node);
    const graph_node *step = graph_node_at(f->g, group->before.at[0].node);
    graph_val gradients = bwd->in[GRADIENTS];
    if (group->before.n != 1 || step->op != OP_RELU_BWD || f->n_readers[gradients] != 1 ||
        graph_value_at(f->g, gradients)->keep)
        return GRAPH_NONE;
    const graph_node *half = maker_of(f, step->in[1]);
    graph_val y = half && half->op == OP_TO_HALF ? half->in[0] : step->in[1];
    const graph_node *relu = maker_of(f, y);
    const graph_node *norm = relu && relu->op == OP_RELU ? maker_of(f, relu->in[0]) : NULL;
    if (!norm || !is_gradient_of(bwd, norm) || norm->out[0] != relu->in[0] ||
        graph_value_at(f->g, norm->in[2])->kind == VAL_TEMP)
        return GRAPH_NONE;
    const graph_val alike[] = {bwd->in[0], relu->in[0], y, step->in[1], step->in[0], gradients};
    return are_stored_alike(f, alike, COUNT_OF(alike)) ? graph_value_at(f->g, relu->in[0])->def
                                                       : GRAPH_NONE;
}

/* --- joining --- */

static bool matmul_takes(const fuser *f, const cuda_group *group, int32_t node, int32_t slot)
{
    fused_steps steps = group->behind;
    steps.at[steps.n++] = (fused_step){node, slot};
    bool is_seen = f->n_seen[group->held] > 1 || f->is_grad[group->held];
    return cuda_matmul_takes(f->p, group->spine, &steps, is_seen);
}

static bool takes_as_step(const fuser *f, const cuda_group *group, int32_t node, int32_t slot)
{
    const fused_steps *steps = group->spine == GRAPH_NONE ? &group->before : &group->behind;
    bool is_beside = group->spine != GRAPH_NONE;
    bool is_end = is_beside && is_matmul(f, group->spine);
    return steps->n < CHAIN_STEPS && cuda_chain_takes(f->p, node, slot, is_beside && !is_end) &&
           (!is_end || matmul_takes(f, group, node, slot));
}

/* Gradients that others made are summed by fours of channels. */
static bool finds_gradients(const fuser *f, const cuda_group *group, int32_t node)
{
    return cuda_norm_is_channels_last(&f->p->nodes[node]) || relu_of(f, group, node) != GRAPH_NONE;
}

static bool takes_as_spine(const fuser *f, const cuda_group *group, int32_t node, int32_t slot)
{
    const graph_node *n = graph_node_at(f->g, node);
    return slot == slot_before(f, node) && !storage_moves(&f->p->nodes[node]) &&
           group->spine == GRAPH_NONE && group->held == n->in[slot] &&
           is_light(f, &group->before) && (slot != GRADIENTS || finds_gradients(f, group, node));
}

/* --- the walk --- */

static void add_views(const fuser *f, cuda_group *group, graph_val v)
{
    while (group_of(f, v) != group) {
        int32_t def = graph_value_at(f->g, v)->def;
        f->p->group[def] = group;
        group->n_nodes++;
        v = graph_node_at(f->g, def)->in[0];
    }
}

static void add_step(const fuser *f, cuda_group *group, int32_t node, int32_t slot)
{
    fused_steps *steps = group->spine == GRAPH_NONE ? &group->before : &group->behind;
    const graph_node *n = graph_node_at(f->g, node);
    steps->at[steps->n++] = (fused_step){node, slot};
    if (graph_value_at(f->g, n->out[0])->dtype == DT_F32)
        group->held = n->out[0]; /* otherwise a rounded copy, beside it */
}

static void close_with(const fuser *f, cuda_group *group, int32_t spine)
{
    if (slot_before(f, spine) == GRADIENTS)
        group->relu_of = relu_of(f, group, spine);
    group->spine = spine;
    group->held = GRAPH_NONE;
}

/* Whether the node could continue the group that holds what this input shows. */
static cuda_group *candidate(const fuser *f, int32_t node, int32_t slot)
{
    graph_val from = seen_through(f, graph_node_at(f->g, node)->in[slot]);
    cuda_group *group = group_of(f, from);
    if (!group || group->held != from || node - group->first > MOST_APART)
        return NULL;
    bool can = can_wait(f, group, node, slot) &&
               (takes_as_spine(f, group, node, slot) || takes_as_step(f, group, node, slot));
    return can ? group : NULL;
}

static bool joins(const fuser *f, int32_t node)
{
    const graph_node *n = graph_node_at(f->g, node);
    cuda_group *best = NULL;
    int32_t slot = 0;
    for (int32_t k = 0; k < n->n_in; k++) {
        cuda_group *group = n->in[k] == GRAPH_NONE ? NULL : candidate(f, node, k);
        if (group && (!best || group->last > best->last)) {
            best = group;
            slot = k;
        }
    }
    if (!best)
        return false;
    add_views(f, best, n->in[slot]);
    cuda_group_add(f->p, best, node);
    if (takes_as_spine(f, best, node, slot))
        close_with(f, best, node);
    else
        add_step(f, best, node, slot);
    return true;
}

/* The input that a chain could begin with, or GRAPH_NONE. A rounded copy alone is none. */
static int32_t first_slot(const backend_program *p, int32_t node)
{
    const graph_node *n = graph_node_at(p->g, node);
    for (int32_t k = 0; k < n->n_in; k++)
        if (cuda_chain_takes(p, node, k, false) && graph_value_at(p->g, n->out[0])->dtype == DT_F32)
            return k;
    return GRAPH_NONE;
}

static void begins(const fuser *f, int32_t node)
{
    const graph_node *n = graph_node_at(f->g, node);
    bool is_spine = has_chain_behind(f, node);
    int32_t slot = is_spine ? GRAPH_NONE : first_slot(f->p, node);
    if (!is_spine && slot == GRAPH_NONE)
        return;
    cuda_group *group = cuda_group_new(f->p, node);
    if (is_spine) {
        group->spine = node;
        group->held = n->out[0];
    } else {
        add_step(f, group, node, slot);
    }
}

/* --- the batch's mean and variance --- */

/* What the node multiplies v by, if that is one number, and there before `node`; or GRAPH_NONE. */
static graph_val factor_of(const fuser *f, int32_t product, graph_val v, int32_t node)
{
    const graph_node *n = graph_node_at(f->g, product);
    if (n->op != OP_MUL || f->p->group[product] || storage_moves(&f->p->nodes[product]) ||
        (n->in[0] != v && n->in[1] != v))
        return GRAPH_NONE;
    graph_val by = n->in[n->in[0] == v];
    const graph_value *factor = graph_value_at(f->g, by);
    bool is_there = graph_shape_elements(&factor->shape) == 1 && factor->def < node;
    const graph_val alike[] = {v, by, n->out[0]};
    return is_there && is_float(f, v) && are_stored_alike(f, alike, COUNT_OF(alike)) ? by
                                                                                     : GRAPH_NONE;
}

static void take_shares(const fuser *f, int32_t node)
{
    const graph_node *bwd = graph_node_at(f->g, node);
    cuda_group *group = (cuda_group *)f->p->group[node];
    if (bwd->op != OP_BATCH_NORMALIZATION_BWD || node + 2 >= graph_n_nodes(f->g) ||
        cuda_node_is_empty(&f->p->nodes[node]) || (group && group->last != node))
        return;
    graph_val by = factor_of(f, node + 1, bwd->in[2], node);
    if (by == GRAPH_NONE || by != factor_of(f, node + 2, bwd->in[3], node))
        return;
    if (!group) {
        group = cuda_group_new(f->p, node);
        group->spine = node;
    }
    for (int k = 0; k < 2; k++) {
        group->shares[k] = node + 1 + k;
        cuda_group_add(f->p, group, node + 1 + k);
    }
}

/* --- what comes of it --- */

static void drop_lonely(const fuser *f)
{
    for (int32_t i = 0; i < graph_n_nodes(f->g); i++)
        if (f->p->group[i] && f->p->group[i]->n_nodes == 1)
            f->p->group[i] = NULL;
}

/* What a spine reads is stored in any case, for its kernels read it again; unless they make it
 * again. */
static void fuse_away(const fuser *f)
{
    bool *is_stored = xcalloc((size_t)graph_n_values(f->g) + 1, sizeof *is_stored);
    for (int32_t i = 0; i < graph_n_nodes(f->g); i++) {
        const graph_node *n = graph_node_at(f->g, i);
        for (int32_t k = 0; k < n->n_in; k++) {
            const cuda_group *group = group_of(f, n->in[k]);
            bool is_spines = group && i == group->spine && group->relu_of == GRAPH_NONE;
            if (group && (f->p->group[i] != group || is_spines))
                is_stored[n->in[k]] = true;
        }
    }
    for (graph_val v = 0; v < graph_n_values(f->g); v++)
        if (group_of(f, v) && f->n_readers[v] > 0 && !graph_value_at(f->g, v)->keep &&
            !f->is_grad[v] && !is_stored[v])
            f->p->is_fused[v] = true;
    free(is_stored);
}

static void look_at_readers(fuser *f)
{
    for (int32_t i = 0; i < graph_n_nodes(f->g); i++) {
        const graph_node *n = graph_node_at(f->g, i);
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k] != GRAPH_NONE) {
                f->n_readers[n->in[k]]++;
                f->n_seen[graph_original(f->g, n->in[k])]++;
            }
    }
    for (graph_val v = 0; v < graph_n_values(f->g); v++)
        if (graph_value_at(f->g, v)->grad != GRAPH_NONE)
            f->is_grad[graph_value_at(f->g, v)->grad] = true;
}

static void tell(const backend_program *p)
{
    for (int32_t i = 0; i < graph_n_nodes(p->g); i++) {
        const cuda_group *group = p->group[i];
        if (!group || group->last != i)
            continue;
        bool is_chain = group->spine == GRAPH_NONE;
        LOG_D("FUSED", "nodes=%d first=%s last=%s around=%s", group->n_nodes,
              graph_node_at(p->g, group->first)->name, graph_node_at(p->g, i)->name,
              is_chain ? "nothing" : graph_op_of(graph_node_at(p->g, group->spine)->op)->name);
    }
}

void cuda_fuse(backend_program *p)
{
    size_t n_values = (size_t)graph_n_values(p->g) + 1;
    fuser f = {.p = p, .g = p->g};
    f.n_readers = xcalloc(n_values, sizeof *f.n_readers);
    f.n_seen = xcalloc(n_values, sizeof *f.n_seen);
    f.is_grad = xcalloc(n_values, sizeof *f.is_grad);
    look_at_readers(&f);
    cuda_fuse_losses(p);
    for (int32_t i = 0; i < graph_n_nodes(f.g); i++)
        if (!p->group[i] && !joins(&f, i))
            begins(&f, i);
    drop_lonely(&f);
    for (int32_t i = 0; i < graph_n_nodes(f.g); i++)
        take_shares(&f, i);
    fuse_away(&f);
    tell(p);
    free(f.n_readers);
    free(f.n_seen);
    free(f.is_grad);
}
