/* The operators of unary.def, Neg, and their gradients. */
#include "backend/cuda/kernels/unary.h"
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/plan/plan.h"

typedef struct unary_state {
    unary_function function;
    launch_types types;
    int64_t elements;
    float p, q;
} unary_state;

static const unary_function function_of[OP_COUNT] = {
    [OP_NEG] = UNARY_neg,
#define SMOOTH(ID, name, ...)  [OP_##ID] = UNARY_##name, [OP_##ID##_BWD] = UNARY_##name##_bwd,
#define STEP(ID, name, ...)  [OP_##ID] = UNARY_##name,
#include "graph/unary.def"
};

static void run_unary(const cuda_node *n, const cuda_call *c)
{
    const unary_state *s = n->state;
    launch_unary(c->stream, s->function, s->types, c->out[0], c->in[0],
                 n->node->n_in > 1 ? c->in[1] : NULL, s->elements, s->p, s->q);
}

unary_function cuda_unary_of(const graph_node *n, float *ret_p, float *ret_q)
{
    *ret_p = *ret_q = 0.0f;
    if (n->op == OP_GELU || n->op == OP_GELU_BWD) {
        if (((const gelu_attr *)n->attr)->tanh)
            return n->op == OP_GELU ? UNARY_gelu_by_tanh : UNARY_gelu_by_tanh_bwd;
    } else if (n->attr) {
        *ret_p = ((const unary_attr *)n->attr)->alpha;
        *ret_q = ((const unary_attr *)n->attr)->beta;
    }
    return function_of[n->op];
}

status cuda_plan_unary(cuda_node *n)
{
    unary_state *s = cuda_node_runs(n, run_unary, sizeof *s);
    s->function = cuda_unary_of(n->node, &s->p, &s->q);
    s->elements = graph_shape_elements(&cuda_out(n, 0)->shape);
    s->types = cuda_types(n);
    n->takes_inplace = true;
    return OK;
}
