/* Dropout and its gradient, with the CPU's masks. */
#include "backend/cuda/kernels/dropout.h"
#include "backend/cuda/plan/plan.h"

typedef struct dropout_state {
    int64_t elements;
    launch_types types;
    launch_dropout drop;
} dropout_state;

static void run_dropout(const cuda_node *n, const cuda_call *c)
{
    const dropout_state *s = n->state;
    launch_dropout drop = s->drop;
    drop.batch = c->in[1];
    launch_drop(c->stream, s->types.y, c->out[0], c->out[1], c->in[0], s->elements, &drop);
}

static void run_dropout_bwd(const cuda_node *n, const cuda_call *c)
{
    const dropout_state *s = n->state;
    launch_drop_bwd(c->stream, s->types, c->out[0], c->in[0], c->in[1], s->elements, s->drop.scale);
}

status cuda_plan_dropout(cuda_node *n)
{
    bool backward = n->node->op == OP_DROPOUT_BWD;
    const dropout_attr *a = n->node->attr;
    dropout_state *s = cuda_node_runs(n, backward ? run_dropout_bwd : run_dropout, sizeof *s);
    if (!backward && cuda_in(n, 1)->dtype != DT_I64)
        return FAIL(n->err, E_UNSUPPORTED, "a batch id in %s, known is int64",
                    dtype_name(cuda_in(n, 1)->dtype));
    s->elements = graph_shape_elements(&cuda_in(n, 0)->shape);
    s->types = cuda_types(n);
    s->drop = cuda_dropout(a->ratio, a->seed, a->stream);
    n->takes_inplace = backward;
    return OK;
}
