/*
 * The operators of unary.def, Neg, and their gradients: one vectorised pass, in whatever layout the
 * input has. Where zero maps to zero, padding is computed along.
 */
#include "backend/cpu/factor.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/math.h"
#include "backend/unary_math.h"
#include "common/base/simd.h"

enum { UNARY_GRAIN = 16384 };

/* a and b are inputs 0 and 1; forward loops do not look at b. p and q are the attributes. */
typedef void (*unary_loop)(float *y, const float *a, const void *b, int64_t n, float p, float q);

/* y = f(x) */
#define FORWARD(name, expression)                                                                  \
    SIMD_CLONES static void loop_##name(float *y, const float *a, const void *b, int64_t n,        \
                                        float p, float q)                                          \
    {                                                                                              \
        (void)b, (void)p, (void)q;                                                                 \
        SIMD_LOOP                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const float x = a[i];                                                                  \
            y[i] = (expression);                                                                   \
        }                                                                                          \
    }

/* dx = dy f'(v), v the x or y that unary.def names */
#define BACKWARD(name, expression)                                                                 \
    SIMD_CLONES static void loop_##name##_bwd(float *y, const float *a, const void *b, int64_t n,  \
                                              float p, float q)                                    \
    {                                                                                              \
        (void)p, (void)q;                                                                          \
        const float *read = b;                                                                     \
        SIMD_LOOP                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const float dy = a[i], v = read[i];                                                    \
            y[i] = (expression);                                                                   \
        }                                                                                          \
    }

#include "backend/unary_math.def"

/* The same of a y that was rounded to bfloat16 */
SIMD_CLONES static void loop_relu_bwd_of_rounded(float *y, const float *a, const void *b, int64_t n,
                                                 float p, float q)
{
    (void)p, (void)q;
    const uint16_t *read = b;
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = vec_from_bits((uint32_t)read[i] << 16) <= 0.0f ? 0.0f : a[i];
}

static const unary_loop loops[OP_COUNT] = {
    [OP_NEG] = loop_neg,
#define SMOOTH(ID, name, ...)  [OP_##ID] = loop_##name, [OP_##ID##_BWD] = loop_##name##_bwd,
#define STEP(ID, name, ...)  [OP_##ID] = loop_##name,
#include "graph/unary.def"
};

typedef struct unary_state {
    unary_loop loop;
    float p, q;
    int64_t b_bytes; /* of an element of b */
    int64_t elements;
} unary_state;

typedef struct unary_task {
    const unary_state *s;
    float *y;
    const float *a;
    const char *b;
} unary_task;

static void run_piece(int64_t begin, int64_t end, void *arg)
{
    const unary_task *t = arg;
    const unary_state *s = t->s;
    const void *b = t->b ? t->b + begin * s->b_bytes : NULL;
    s->loop(t->y + begin, t->a + begin, b, end - begin, s->p, s->q);
}

static void run_unary(const cpu_node *n, const cpu_call *c)
{
    const unary_state *s = n->state;
    unary_task t = {.s = s, .y = c->out[0], .a = c->in[0]};
    if (n->node->n_in > 1)
        t.b = c->in[1];
    team_for(s->elements, UNARY_GRAIN, run_piece, &t);
}

static void choose_loop(unary_state *s, const cpu_node *at)
{
    const graph_node *n = at->node;
    const graph_value *b = node_in(at, 1);
    s->loop = loops[n->op];
    s->b_bytes = b ? (int64_t)node_element_bytes(at, 1) : 0;
    if (b && node_factor_form(at, 1) == FACTOR_BF16)
        s->loop = loop_relu_bwd_of_rounded;
    if (n->op == OP_GELU || n->op == OP_GELU_BWD) {
        if (((const gelu_attr *)n->attr)->tanh)
            s->loop = n->op == OP_GELU ? loop_gelu_by_tanh : loop_gelu_by_tanh_bwd;
    } else if (n->attr) {
        s->p = ((const unary_attr *)n->attr)->alpha;
        s->q = ((const unary_attr *)n->attr)->beta;
    }
}

static bool zero_stays(const unary_state *s)
{
    const float zero = 0.0f;
    float y;
    s->loop(&y, &zero, &zero, 1, s->p, s->q);
    return y == 0.0f;
}

status cpu_plan_unary(cpu_node *n)
{
    unary_state *s = node_runs(n, n->fused ? node_copy_apart : run_unary, sizeof *s);
    choose_loop(s, n);
    TRY(node_follow(n->program, n, n->node->n_in, zero_stays(s), &s->elements, n->err));
    return OK;
}
