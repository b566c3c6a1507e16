/*
 * Activations and their gradients: one vectorised pass, in whatever layout the input has. Where
 * zero maps to zero, padding is computed along.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/cpu/vecmath.h"
#include "common/base/alloc.h"

enum { UNARY_GRAIN = 16384 };

/* a and b are inputs 0 and 1; forward loops do not look at b. */
typedef void (*unary_loop)(float *y, const float *a, const float *b, int64_t n);

#define UNARY_LOOP(name, expression)                                                               \
    SIMD_CLONES static void name(float *y, const float *a, const float *b, int64_t n)              \
    {                                                                                              \
        (void)b;                                                                                   \
        SIMD_LOOP                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = (expression);                                                                   \
    }

/* sqrt(2 / pi), and the cubic term of the tanh form */
#define GELU_SCALE 0x1.988454p-1f
#define GELU_CUBIC 0.044715f

INLINE float gelu_tanh(float x)
{
    return x * vec_sigmoid(2.0f * GELU_SCALE * (x + GELU_CUBIC * x * x * x));
}

INLINE float gelu_tanh_slope(float x)
{
    float in = x > 20.0f ? 20.0f : x; /* flat beyond; keeps infinity times zero away */
    in = in < -20.0f ? -20.0f : in;
    float s = vec_sigmoid(2.0f * GELU_SCALE * (in + GELU_CUBIC * in * in * in));
    float inner = 2.0f * GELU_SCALE * (1.0f + 3.0f * GELU_CUBIC * in * in);
    return s + in * s * (1.0f - s) * inner;
}

INLINE float gelu_erf_slope(float x)
{
    float in = x > 20.0f ? 20.0f : x;
    in = in < -20.0f ? -20.0f : in;
    float density = 0x1.988454p-2f * vec_exp(-0.5f * in * in); /* 1 / sqrt(2 pi) */
    return vec_normal_cdf(in) + in * density;
}

UNARY_LOOP(loop_relu, a[i] < 0.0f ? 0.0f : a[i])
UNARY_LOOP(loop_sigmoid, vec_sigmoid(a[i]))
UNARY_LOOP(loop_tanh, vec_tanh(a[i]))
UNARY_LOOP(loop_gelu, a[i] * vec_normal_cdf(a[i]))
UNARY_LOOP(loop_gelu_tanh, gelu_tanh(a[i]))
UNARY_LOOP(loop_relu_bwd, b[i] > 0.0f ? a[i] : 0.0f)
UNARY_LOOP(loop_sigmoid_bwd, a[i] * (b[i] * (1.0f - b[i])))
UNARY_LOOP(loop_tanh_bwd, a[i] * (1.0f - b[i] * b[i]))
UNARY_LOOP(loop_gelu_bwd, a[i] * gelu_erf_slope(b[i]))
UNARY_LOOP(loop_gelu_tanh_bwd, a[i] * gelu_tanh_slope(b[i]))

typedef struct unary_state {
    unary_loop loop;
    int64_t elements;
} unary_state;

typedef struct unary_task {
    unary_loop loop;
    float *y;
    const float *a, *b;
} unary_task;

static void run_piece(int64_t begin, int64_t end, void *arg)
{
    const unary_task *t = arg;
    t->loop(t->y + begin, t->a + begin, t->b ? t->b + begin : NULL, end - begin);
}

static status run_unary(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const unary_state *s = n->state;
    unary_task t = {.loop = s->loop, .y = c->out[0], .a = c->in[0], .b = c->in[1]};
    team_for(s->elements, UNARY_GRAIN, run_piece, &t);
    return OK;
}

static unary_loop loop_of(const graph_node *n)
{
    switch (n->op) {
    case OP_RELU:
        return loop_relu;
    case OP_SIGMOID:
        return loop_sigmoid;
    case OP_TANH:
        return loop_tanh;
    case OP_GELU:
        return ((const gelu_attr *)n->attr)->tanh ? loop_gelu_tanh : loop_gelu;
    case OP_RELU_BWD:
        return loop_relu_bwd;
    case OP_SIGMOID_BWD:
        return loop_sigmoid_bwd;
    case OP_TANH_BWD:
        return loop_tanh_bwd;
    case OP_GELU_BWD:
        return ((const gelu_attr *)n->attr)->tanh ? loop_gelu_tanh_bwd : loop_gelu_bwd;
    default:
        BUG("operator %d is not unary", (int)n->op);
    }
}

status plan_unary(backend_program *p, cpu_node *n, error *err)
{
    unary_state *s = arena_alloc(p->arena, sizeof *s);
    s->loop = loop_of(n->node);
    TRY(node_follow(p, n, n->node->n_in, n->node->op != OP_SIGMOID, &s->elements, err));
    n->body = n->fused ? node_copy_apart : run_unary;
    n->state = s;
    return OK;
}
