/* Choices between operands: Where, and the gradients that follow one. */
#include "backend/cuda/kernels/ternary.h"
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/plan/plan.h"
#include "graph/op_by_name.h"

typedef struct choice_state {
    axes over;
    launch_types types;
    choice_function function;
    size_t element; /* bytes */
} choice_state;

static void run_choice(const cuda_node *n, const cuda_call *c)
{
    const choice_state *s = n->state;
    launch_choice(c->stream, s->function, s->types, c->out[0], c->in[0], c->in[1], c->in[2],
                  &s->over);
}

static void run_where(const cuda_node *n, const cuda_call *c)
{
    const choice_state *s = n->state;
    launch_where(c->stream, s->element, c->out[0], c->in[0], c->in[1], c->in[2], &s->over);
}

choice_function cuda_choice_of(graph_op op)
{
    static const choice_function choices[OP_COUNT] = {
#define CHOICE(name, expression) [OP_OF_##name] = CHOICE_##name,
#include "backend/binary_math.def"
    };
    return choices[op];
}

status cuda_plan_where(cuda_node *n)
{
    bool is_where = n->node->op == OP_WHERE;
    dtype t = cuda_out_storage(n, 0).type;
    choice_state *s = cuda_node_runs(n, is_where ? run_where : run_choice, sizeof *s);
    *s = (choice_state){.over = cuda_broadcast(n), .element = dtype_bytes(t)};
    if (!is_where) {
        s->function = cuda_choice_of(n->node->op);
        s->types = cuda_types(n);
    }
    n->takes_inplace = !is_where;
    return OK;
}
