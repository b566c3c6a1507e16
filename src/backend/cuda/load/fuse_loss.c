/*
 * Losses that take their gradient and the accuracy of the same scores along: scores over a
 * vocabulary are the largest values of a language model, and each of the three reads all of them.
 */
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/load/storage.h"
#include "backend/cuda/plan/plan.h"

enum { MOST_APART = 8 }; /* nodes, most of them views */

static const graph_node *node_at(const backend_program *p, int32_t node)
{
    return graph_node_at(p->g, node);
}

/* Whether rows of scores are read in one piece, as they lie. */
static bool is_of_rows(const backend_program *p, int32_t node)
{
    const cuda_node *n = &p->nodes[node];
    return !storage_moves(n) && !cuda_node_is_empty(n) && cuda_in(n, 0)->shape.rank == 2 &&
           cuda_in(n, 0)->dtype == DT_F32 && graph_shape_elements(&cuda_in(n, 0)->shape) > 0;
}

static bool is_loss(const backend_program *p, int32_t node)
{
    const graph_node *n = node_at(p, node);
    return n->op == OP_SOFTMAX_CROSS_ENTROPY_LOSS && is_of_rows(p, node) &&
           !((const sce_attr *)n->attr)->log_probs;
}

static bool is_accuracy_of(const backend_program *p, int32_t node, const graph_node *loss)
{
    const graph_node *n = node_at(p, node);
    const accuracy_attr *a = n->attr;
    const sce_attr *of = loss->attr;
    return n->op == OP_ACCURACY && n->in[0] == loss->in[0] && n->in[1] == loss->in[1] &&
           a->has_ignore_index == of->has_ignore_index &&
           (!a->has_ignore_index || a->ignore_index == of->ignore_index) && is_of_rows(p, node);
}

static graph_val weights_of(const graph_node *n, int32_t slot)
{
    return n->n_in > slot ? n->in[slot] : GRAPH_NONE;
}

static bool is_gradient_of(const backend_program *p, int32_t node, const graph_node *loss)
{
    const graph_node *n = node_at(p, node);
    const sce_attr *a = n->attr, *of = loss->attr;
    return n->op == OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD && n->in[0] == loss->in[0] &&
           n->in[1] != loss->out[0] && n->in[2] == loss->in[1] && n->in[3] == loss->out[1] &&
           n->in[4] == loss->out[2] && weights_of(n, 5) == weights_of(loss, 2) &&
           a->reduction == of->reduction && a->has_ignore_index == of->has_ignore_index &&
           a->ignore_index == of->ignore_index && !a->log_probs && is_of_rows(p, node);
}

/* Whether nobody reads what the nodes of the group make before its last one. */
static bool can_wait(const backend_program *p, const cuda_group *group)
{
    for (int32_t i = group->first + 1; i < group->last; i++) {
        const graph_node *n = node_at(p, i);
        if (p->group[i] == group)
            continue;
        for (int32_t k = 0; k < n->n_in; k++) {
            int32_t def = n->in[k] == GRAPH_NONE ? GRAPH_NONE : graph_value_at(p->g, n->in[k])->def;
            if (def != GRAPH_NONE && p->group[def] == group)
                return false;
        }
    }
    return true;
}

static void dissolve(backend_program *p, const cuda_group *group)
{
    for (int32_t i = group->first; i <= group->last; i++)
        if (p->group[i] == group)
            p->group[i] = NULL;
}

static void fuse_loss(backend_program *p, int32_t loss)
{
    const graph_node *n = node_at(p, loss);
    int32_t begin = loss > MOST_APART ? loss - MOST_APART : 0;
    int32_t end = loss + MOST_APART < graph_n_nodes(p->g) ? loss + MOST_APART : graph_n_nodes(p->g);
    cuda_group *group = cuda_group_new(p, loss);
    group->spine = loss;
    for (int32_t i = begin; i < end; i++) {
        int32_t *as = is_accuracy_of(p, i, n)   ? &group->accuracy
                      : is_gradient_of(p, i, n) ? &group->gradients
                                                : NULL;
        if (!as || *as != GRAPH_NONE || p->group[i])
            continue;
        *as = i;
        cuda_group_add(p, group, i);
    }
    group->first = group->accuracy != GRAPH_NONE && group->accuracy < loss ? group->accuracy : loss;
    group->last = group->last > loss ? group->last : loss;
    if (!can_wait(p, group))
        dissolve(p, group);
}

void cuda_fuse_losses(backend_program *p)
{
    for (int32_t i = 0; i < graph_n_nodes(p->g); i++)
        if (is_loss(p, i))
            fuse_loss(p, i);
}
