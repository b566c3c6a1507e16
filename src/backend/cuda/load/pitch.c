/*
 * Which values have rows that begin at even places (storage.h). A value has, if its maker can leave
 * it so and all its readers take it so; views, and the gradient of a loss, which may take the
 * scores' place, have what they are of. Frozen: no more values are chosen without a measurement on a GPU.
 */
#include "backend/cuda/load/storage.h"
#include "common/base/alloc.h"

#include <stdlib.h>

enum {
    WIDE = 1024, /* elements of a row that is worth it */
    GRAIN = 64,  /* elements; rows begin at multiples */
    VECTOR = 16, /* bytes that tensor cores are fed with at a time */
};

typedef struct pitcher {
    backend_program *p;
    bool *can; /* by value */
} pitcher;

static int64_t width_of(const graph_value *v)
{
    return v->shape.rank > 0 ? v->shape.dim[v->shape.rank - 1] : 0;
}

static bool is_uneven(const backend_program *p, graph_val v)
{
    const graph_value *value = graph_value_at(p->g, v);
    int64_t width = width_of(value);
    bool is_float = value->dtype == DT_F32 || dtype_is_half(value->dtype);
    return value->kind == VAL_TEMP && !value->keep && is_float && width >= WIDE &&
           width * (int64_t)dtype_bytes(p->storage[v].type) % VECTOR != 0;
}

static bool is_view(graph_op op)
{
    return op == OP_RESHAPE || op == OP_FLATTEN || op == OP_IDENTITY || op == OP_TO_HALF;
}

static bool is_loss(graph_op op)
{
    return op == OP_SOFTMAX_CROSS_ENTROPY_LOSS || op == OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD ||
           op == OP_ACCURACY;
}

static bool takes(const cuda_node *n, int i)
{
    graph_op op = n->node->op;
    bool is_factor = op == OP_GEMM && i < 2;
    bool is_scores = i == 0 && is_loss(op) && cuda_in(n, 0)->shape.rank == 2;
    return !n->in[i].moves && (is_factor || is_scores || is_view(op));
}

static bool makes(const cuda_node *n, int i)
{
    graph_op op = n->node->op;
    bool is_matmul = op == OP_GEMM && graph_node_inplace(n->node) == GRAPH_NONE;
    bool is_gradients = op == OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD && takes(n, 0);
    return i == 0 && !n->out[0].moves && (is_matmul || is_gradients || is_view(op));
}

/* Whether its input 0 and its output have rows of one kind. */
static bool are_alike(const pitcher *s, const cuda_node *n)
{
    graph_val x = n->node->in[0], y = n->node->out[0];
    return width_of(cuda_in(n, 0)) == width_of(cuda_out(n, 0)) &&
           s->p->storage[x].type == s->p->storage[y].type && s->can[x] == s->can[y];
}

/* Whether they must. */
static bool is_bound(const cuda_node *n)
{
    graph_op op = n->node->op;
    return n->node->out[0] != GRAPH_NONE &&
           (is_view(op) || op == OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD);
}

/* Until nothing changes: what one may not have, the other may not either. */
static void refuse_together(const pitcher *s)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = 0; i < graph_n_nodes(s->p->g); i++) {
            const cuda_node *n = &s->p->nodes[i];
            if (!is_bound(n) || are_alike(s, n))
                continue;
            changed |= s->can[n->node->in[0]] || s->can[n->node->out[0]];
            s->can[n->node->in[0]] = s->can[n->node->out[0]] = false;
        }
    }
}

/* Nodes are in order: the one that makes a value comes before those that read it. */
static void look_at(const pitcher *s, const cuda_node *n)
{
    for (int i = 0; i < n->node->n_out; i++)
        if (n->node->out[i] != GRAPH_NONE)
            s->can[n->node->out[i]] = makes(n, i) && is_uneven(s->p, n->node->out[i]);
    for (int i = 0; i < n->node->n_in; i++)
        if (n->node->in[i] != GRAPH_NONE && !takes(n, i))
            s->can[n->node->in[i]] = false;
}

static void tell(const backend_program *p, graph_val v, cuda_edge *e)
{
    if (v != GRAPH_NONE)
        e->seen.pitch = p->storage[v].pitch;
}

void storage_space_rows(backend_program *p)
{
    const graph *g = p->g;
    pitcher s = {p, xcalloc((size_t)graph_n_values(g) + 1, sizeof *s.can)};
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        look_at(&s, &p->nodes[i]);
    for (graph_val v = 0; v < graph_n_values(g); v++)
        if (graph_value_at(g, v)->grad != GRAPH_NONE)
            s.can[graph_value_at(g, v)->grad] = false;
    refuse_together(&s);
    for (graph_val v = 0; v < graph_n_values(g); v++)
        if (s.can[v])
            p->storage[v].pitch = (width_of(graph_value_at(g, v)) + GRAIN - 1) / GRAIN * GRAIN;
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        const cuda_node *n = &p->nodes[i];
        for (int k = 0; k < n->node->n_in; k++)
            tell(p, n->node->in[k], &n->in[k]);
        for (int k = 0; k < n->node->n_out; k++)
            tell(p, n->node->out[k], &n->out[k]);
    }
    free(s.can);
}
