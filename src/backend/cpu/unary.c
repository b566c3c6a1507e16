/*
 * The operators of unary.def, Neg, and their gradients: one vectorised pass, in whatever layout the
 * input has. Where zero maps to zero, padding is computed along.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/cpu/vecmath.h"
#include "backend/cpu/vecwide.h"
#include "common/base/alloc.h"

enum { UNARY_GRAIN = 16384 };

/* a and b are inputs 0 and 1; forward loops do not look at b. p and q are the attributes. */
typedef void (*unary_loop)(float *y, const float *a, const float *b, int64_t n, float p, float q);

/* y = f(x) */
#define FORWARD(name, expression)                                                                  \
    SIMD_CLONES static void loop_##name(float *y, const float *a, const float *b, int64_t n,       \
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
    SIMD_CLONES static void loop_##name##_bwd(float *y, const float *a, const float *b, int64_t n, \
                                              float p, float q)                                    \
    {                                                                                              \
        (void)p, (void)q;                                                                          \
        SIMD_LOOP                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const float dy = a[i], v = b[i];                                                       \
            y[i] = (expression);                                                                   \
        }                                                                                          \
    }

/* sqrt(2 / pi), and the cubic term of the tanh form */
#define GELU_SCALE 0x1.988454p-1f
#define GELU_CUBIC 0.044715f

INLINE float within(float x, float low, float high)
{
    float y = x < low ? low : x;
    return y > high ? high : y;
}

INLINE float gelu_tanh(float x)
{
    return x * vec_sigmoid(2.0f * GELU_SCALE * (x + GELU_CUBIC * x * x * x));
}

INLINE float gelu_tanh_slope(float x)
{
    float in = within(x, -20.0f, 20.0f); /* flat beyond; keeps infinity times zero away */
    float s = vec_sigmoid(2.0f * GELU_SCALE * (in + GELU_CUBIC * in * in * in));
    float inner = 2.0f * GELU_SCALE * (1.0f + 3.0f * GELU_CUBIC * in * in);
    return s + in * s * (1.0f - s) * inner;
}

INLINE float gelu_erf_slope(float x)
{
    float in = within(x, -20.0f, 20.0f);
    float bell, tail = vec_normal_tail(in, &bell);
    float cdf = in > 0.0f ? 1.0f - tail : tail;
    return cdf + in * 0x1.988454p-2f * bell; /* 1 / sqrt(2 pi) */
}

INLINE float swish_slope(float x, float alpha)
{
    float in = within(x, -1e30f, 1e30f);
    float s = vec_sigmoid(alpha * in);
    return s + alpha * in * s * (1.0f - s);
}

/* tanh(softplus(x)): with e = exp(x), (1 + e)^2 - 1 over (1 + e)^2 + 1 */
INLINE float mish_gate(float x)
{
    float e = vec_exp(within(x, -87.0f, 20.0f)), n = e * (e + 2.0f);
    return n / (n + 2.0f);
}

INLINE float mish_slope(float x)
{
    float t = mish_gate(x), in = within(x, -1e30f, 1e30f);
    return t + in * (1.0f - t * t) * vec_sigmoid(x);
}

INLINE float softsign_slope(float x)
{
    float t = 1.0f + vec_abs(x);
    return 1.0f / (t * t);
}

INLINE float sign_of(float x)
{
    return x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x);
}

/* clang-format off */
FORWARD(neg, -x)
FORWARD(relu, x < 0.0f ? 0.0f : x)
BACKWARD(relu, v > 0.0f ? dy : 0.0f)
FORWARD(sigmoid, vec_sigmoid(x))
BACKWARD(sigmoid, dy * (v * (1.0f - v)))
FORWARD(tanh, vec_tanh(x))
BACKWARD(tanh, dy * (1.0f - v * v))
FORWARD(gelu, x * vec_normal_cdf(x))
BACKWARD(gelu, dy * gelu_erf_slope(v))
FORWARD(gelu_by_tanh, gelu_tanh(x))
BACKWARD(gelu_by_tanh, dy * gelu_tanh_slope(v))
FORWARD(swish, x * vec_sigmoid(p * x))
BACKWARD(swish, dy * swish_slope(v, p))
FORWARD(mish, x * mish_gate(x))
BACKWARD(mish, dy * mish_slope(v))
FORWARD(softplus, vec_softplus(x))
BACKWARD(softplus, dy * vec_sigmoid(v))
FORWARD(softsign, x / (1.0f + vec_abs(x)))
BACKWARD(softsign, dy * softsign_slope(v))
FORWARD(leaky_relu, x > 0.0f ? x : p * x)
BACKWARD(leaky_relu, v > 0.0f ? dy : p * dy)
FORWARD(thresholded_relu, x > p ? x : (x != x ? x : 0.0f))
BACKWARD(thresholded_relu, v > p ? dy : 0.0f)
FORWARD(elu, x > 0.0f ? x : p * vec_expm1(x))
BACKWARD(elu, v > 0.0f ? dy : dy * p * vec_exp(v))
FORWARD(selu, q * (x > 0.0f ? x : p * vec_expm1(x)))
BACKWARD(selu, dy * q *(v > 0.0f ? 1.0f : p * vec_exp(v)))
FORWARD(celu, x > 0.0f ? x : p * vec_expm1(x / p))
BACKWARD(celu, v > 0.0f ? dy : dy * vec_exp(v / p))
FORWARD(hard_sigmoid, within(p * x + q, 0.0f, 1.0f))
BACKWARD(hard_sigmoid, p * v + q > 0.0f && p * v + q < 1.0f ? dy * p : 0.0f)
FORWARD(hard_swish, x * within(x / 6.0f + 0.5f, 0.0f, 1.0f))
BACKWARD(hard_swish, v < -3.0f ? 0.0f : (v > 3.0f ? dy : dy * (v / 3.0f + 0.5f)))
FORWARD(clip, within(x, p, q))
BACKWARD(clip, v < p || v > q ? 0.0f : dy)
FORWARD(shrink, x < -p ? x + q : (x > p ? x - q : (x != x ? x : 0.0f)))
BACKWARD(shrink, vec_abs(v) > p ? dy : 0.0f)
FORWARD(abs, vec_abs(x))
BACKWARD(abs, v > 0.0f ? dy : (v < 0.0f ? -dy : 0.0f))
FORWARD(exp, vec_exp(x))
BACKWARD(exp, dy * v)
FORWARD(log, vec_log(x))
BACKWARD(log, dy / v)
FORWARD(sqrt, __builtin_sqrtf(x))
BACKWARD(sqrt, 0.5f * dy / v)
FORWARD(reciprocal, 1.0f / x)
BACKWARD(reciprocal, -dy * v *v)
FORWARD(erf, wide_erf(x, vec_normal_cdf(-0x1.6a09e6p+0f * vec_abs(x))))
BACKWARD(erf, dy * (0x1.20dd76p+0f * vec_exp(-v * v)))
FORWARD(sin, wide_sin(x))
BACKWARD(sin, dy * wide_cos(v))
FORWARD(cos, wide_cos(x))
BACKWARD(cos, -dy * wide_sin(v))
FORWARD(tan, wide_tan(x))
BACKWARD(tan, dy * (1.0f + v * v))
FORWARD(asin, wide_asin(x))
BACKWARD(asin, dy / __builtin_sqrtf((1.0f - v) * (1.0f + v)))
FORWARD(acos, wide_acos(x))
BACKWARD(acos, -dy / __builtin_sqrtf((1.0f - v) * (1.0f + v)))
FORWARD(atan, wide_atan(x))
BACKWARD(atan, dy / (1.0f + v * v))
FORWARD(sinh, wide_sinh(x))
BACKWARD(sinh, dy * wide_cosh(v))
FORWARD(cosh, wide_cosh(x))
BACKWARD(cosh, dy * wide_sinh(v))
FORWARD(asinh, wide_asinh(x))
BACKWARD(asinh, dy / __builtin_sqrtf(v * v + 1.0f))
FORWARD(acosh, wide_acosh(x))
BACKWARD(acosh, dy / __builtin_sqrtf((v - 1.0f) * (v + 1.0f)))
FORWARD(atanh, wide_atanh(x))
BACKWARD(atanh, dy / ((1.0f - v) * (1.0f + v)))
FORWARD(sign, sign_of(x))
FORWARD(floor, vec_floor(x))
FORWARD(ceil, -vec_floor(-x))
FORWARD(round, vec_round(x))
/* clang-format on */

static const unary_loop loops[OP_COUNT] = {
    [OP_NEG] = loop_neg,
#define SMOOTH(ID, name, onnx, reads, attr)                                                        \
    [OP_##ID] = loop_##name, [OP_##ID##_BWD] = loop_##name##_bwd,
#define STEP(ID, name, onnx) [OP_##ID] = loop_##name,
#include "graph/unary.def"
};

typedef struct unary_state {
    unary_loop loop;
    float p, q;
    int64_t elements;
} unary_state;

typedef struct unary_task {
    const unary_state *s;
    float *y;
    const float *a, *b;
} unary_task;

static void run_piece(int64_t begin, int64_t end, void *arg)
{
    const unary_task *t = arg;
    t->s->loop(t->y + begin, t->a + begin, t->b ? t->b + begin : NULL, end - begin, t->s->p,
               t->s->q);
}

static status run_unary(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const unary_state *s = n->state;
    unary_task t = {.s = s, .y = c->out[0], .a = c->in[0]};
    if (n->node->n_in > 1)
        t.b = c->in[1];
    team_for(s->elements, UNARY_GRAIN, run_piece, &t);
    return OK;
}

static void choose_loop(unary_state *s, const graph_node *n)
{
    s->loop = loops[n->op];
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

status plan_unary(backend_program *p, cpu_node *n, error *err)
{
    unary_state *s = arena_alloc(p->arena, sizeof *s);
    choose_loop(s, n->node);
    TRY(node_follow(p, n, n->node->n_in, zero_stays(s), &s->elements, err));
    n->body = n->fused ? node_copy_apart : run_unary;
    n->state = s;
    return OK;
}
