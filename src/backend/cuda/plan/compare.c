/* What makes booleans: comparisons, logic, and questions about one element. */
#include "backend/cuda/kernels/binary.h"
#include "backend/cuda/plan/plan.h"
#include "graph/op_by_name.h"

typedef struct compare_state {
    axes over;
    dtype type;
    compare_function function;
} compare_state;

typedef struct question_state {
    question_function function;
    int64_t elements;
} question_state;

static const compare_function function_of[OP_COUNT] = {
#define COMPARISON(name, expression) [OP_OF_##name] = COMPARE_##name,
#define LOGIC(name, expression)      COMPARISON(name, expression)
#include "backend/binary_math.def"
};

static void run_compare(const cuda_node *n, const cuda_call *c)
{
    const compare_state *s = n->state;
    launch_compare(c->stream, s->function, s->type, c->out[0], c->in[0], c->in[1], &s->over);
}

static void run_question(const cuda_node *n, const cuda_call *c)
{
    const question_state *s = n->state;
    launch_question(c->stream, s->function, c->out[0], c->in[0], s->elements);
}

static question_function question_of(const graph_node *n)
{
    const is_inf_attr *a = n->attr;
    if (n->op != OP_IS_INF)
        return n->op == OP_NOT ? QUESTION_not : QUESTION_is_nan;
    if (a->only_positive)
        return a->only_negative ? QUESTION_never : QUESTION_is_plus_inf;
    return a->only_negative ? QUESTION_is_minus_inf : QUESTION_is_inf;
}

static void plan_question(cuda_node *n)
{
    question_state *s = cuda_node_runs(n, run_question, sizeof *s);
    s->function = question_of(n->node);
    s->elements = graph_shape_elements(&cuda_out(n, 0)->shape);
}

static void plan_pairs(cuda_node *n)
{
    compare_state *s = cuda_node_runs(n, run_compare, sizeof *s);
    *s = (compare_state){.over = cuda_broadcast(n),
                         .type = cuda_in(n, 0)->dtype,
                         .function = function_of[n->node->op]};
}

status cuda_plan_compare(cuda_node *n)
{
    dtype t = cuda_in(n, 0)->dtype;
    if (dtype_is_half(t) || t == DT_F64)
        return FAIL(n->err, E_UNSUPPORTED, "comparisons of %s", dtype_name(t));
    if (n->node->n_in == 1)
        plan_question(n);
    else
        plan_pairs(n);
    n->takes_inplace = graph_node_inplace(n->node) != GRAPH_NONE;
    return OK;
}
