/* What makes booleans: comparisons, logic, and questions about one element. */
#include "backend/cuda/kernels/binary.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
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

static status run_compare(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    const compare_state *s = n->state;
    launch_compare(c->stream, s->function, s->type, c->out[0], c->in[0], c->in[1], &s->over);
    return OK;
}

static status run_question(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    const question_state *s = n->state;
    launch_question(c->stream, s->function, c->out[0], c->in[0], s->elements);
    return OK;
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

static void plan_question(backend_program *p, cuda_node *n)
{
    question_state *s = arena_alloc(p->arena, sizeof *s);
    s->function = question_of(n->node);
    s->elements = graph_shape_elements(&cuda_out(n, 0)->shape);
    n->body = run_question;
    n->state = s;
}

static void plan_pairs(backend_program *p, cuda_node *n)
{
    compare_state *s = arena_alloc(p->arena, sizeof *s);
    *s = (compare_state){.over = cuda_broadcast(n),
                         .type = cuda_in(n, 0)->dtype,
                         .function = function_of[n->node->op]};
    n->body = run_compare;
    n->state = s;
}

status cuda_plan_compare(backend_program *p, cuda_node *n, error *err)
{
    dtype t = cuda_in(n, 0)->dtype;
    if (dtype_is_half(t) || t == DT_F64)
        return FAIL(err, E_UNSUPPORTED, "comparisons of %s", dtype_name(t));
    if (n->node->n_in == 1)
        plan_question(p, n);
    else
        plan_pairs(p, n);
    n->takes_inplace = graph_node_inplace(n->node) != GRAPH_NONE;
    return OK;
}
