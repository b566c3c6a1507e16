#include "optim/optim.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"
#include "common/base/simd.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
    [OPTIM_SGD] = "sgd",         [OPTIM_ADAM] = "adam",       [OPTIM_ADAMW] = "adamw",
    [OPTIM_ADAGRAD] = "adagrad", [OPTIM_RMSPROP] = "rmsprop",
};

const char *optim_name(optim_kind kind)
{
    return (size_t)kind < COUNT_OF(names) ? names[kind] : "unknown";
}

bool optim_kind_of(const char *name, optim_kind *ret)
{
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *ret = (optim_kind)i;
            return true;
        }
    return false;
}

/* The names of the slots in their order; returns their number. */
static size_t slot_names(const optim *o, const char *ret[OPTIM_SLOTS])
{
    size_t n = 0;
    switch (o->kind) {
    case OPTIM_SGD:
        if (o->momentum != 0)
            ret[n++] = "momentum";
        break;
    case OPTIM_ADAM:
    case OPTIM_ADAMW:
        ret[n++] = "exp_avg";
        ret[n++] = "exp_avg_sq";
        break;
    case OPTIM_ADAGRAD:
        ret[n++] = "sum";
        break;
    case OPTIM_RMSPROP:
        ret[n++] = "square_avg";
        if (o->centered)
            ret[n++] = "grad_avg";
        if (o->momentum != 0)
            ret[n++] = "momentum";
        break;
    }
    return n;
}

size_t optim_slots(const optim *o)
{
    const char *ignored[OPTIM_SLOTS];
    return slot_names(o, ignored);
}

const char *optim_slot_name(const optim *o, size_t slot)
{
    const char *all[OPTIM_SLOTS];
    BUG_ON(slot >= slot_names(o, all));
    return all[slot];
}

float optim_slot_initial(const optim *o, size_t slot)
{
    (void)slot;
    return o->kind == OPTIM_ADAGRAD ? (float)o->initial_accumulator : 0.0f;
}

/* What the kernels work on, with the constants every one of them needs. */
typedef struct span {
    size_t n;
    const float *grad, *weight;
    float *weight_out;
    float scale, limit; /* g = clamp(scale * grad, -limit, limit) */
    float decay;        /* then g += decay * w */
} span;

/* The gradient as the formulas see it. Not-a-numbers pass through. */
static inline __attribute__((always_inline)) float gradient(float grad, float w, const span *s)
{
    float g = grad * s->scale;
    g = g > s->limit ? s->limit : g < -s->limit ? -s->limit : g;
    return g + s->decay * w;
}

SIMD_CLONES
static void sgd_plain(span s, float rate)
{
    SIMD_LOOP
    for (size_t i = 0; i < s.n; i++) {
        float w = s.weight[i];
        s.weight_out[i] = w - rate * gradient(s.grad[i], w, &s);
    }
}

typedef struct sgd_constants {
    float rate, momentum, keep, take; /* v = keep*v + take*g */
    bool nesterov;
} sgd_constants;

SIMD_CLONES
static void sgd_momentum(span s, sgd_constants c, const float *v_in, float *v_out)
{
    SIMD_LOOP
    for (size_t i = 0; i < s.n; i++) {
        float w = s.weight[i];
        float g = gradient(s.grad[i], w, &s);
        float v = c.keep * v_in[i] + c.take * g;
        float move = c.nesterov ? g + c.momentum * v : v;
        v_out[i] = v;
        s.weight_out[i] = w - c.rate * move;
    }
}

static void sgd(const optim *o, const optim_call *call, span s, const float *const *in,
                float *const *out)
{
    if (o->momentum == 0) {
        sgd_plain(s, call->rate);
        return;
    }
    bool first = call->step == 1;
    sgd_constants c = {
        .rate = call->rate,
        .momentum = (float)o->momentum,
        .keep = first ? 0.0f : (float)o->momentum,
        .take = first ? 1.0f : (float)(1.0 - o->dampening),
        .nesterov = o->nesterov,
    };
    sgd_momentum(s, c, in[0], out[0]);
}

typedef struct adam_constants {
    float keep_weight; /* adamw: 1 - rate * decay */
    float beta1, take1, beta2, take2;
    float rate, root, eps; /* rate / bias1, sqrt(bias2) */
} adam_constants;

SIMD_CLONES
static void adam_kernel(span s, adam_constants c, const float *m_in, const float *v_in,
                        float *m_out, float *v_out)
{
    SIMD_LOOP
    for (size_t i = 0; i < s.n; i++) {
        float w = s.weight[i];
        float g = gradient(s.grad[i], w, &s);
        float m = c.beta1 * m_in[i] + c.take1 * g;
        float v = c.beta2 * v_in[i] + c.take2 * (g * g);
        m_out[i] = m;
        v_out[i] = v;
        s.weight_out[i] = c.keep_weight * w - c.rate * (m / (sqrtf(v) / c.root + c.eps));
    }
}

static void adam(const optim *o, const optim_call *call, span s, const float *const *in,
                 float *const *out)
{
    double rate = (double)call->rate, keep_weight = 1.0;
    if (o->kind == OPTIM_ADAMW) {
        s.decay = 0.0f;
        keep_weight = call->decay ? 1.0 - rate * o->weight_decay : 1.0;
    }
    adam_constants c = {
        .keep_weight = (float)keep_weight,
        .beta1 = (float)o->beta1,
        .take1 = (float)(1.0 - o->beta1),
        .beta2 = (float)o->beta2,
        .take2 = (float)(1.0 - o->beta2),
        .rate = (float)(rate / (1.0 - det_pow(o->beta1, (double)call->step))),
        .root = (float)det_sqrt(1.0 - det_pow(o->beta2, (double)call->step)),
        .eps = (float)o->eps,
    };
    adam_kernel(s, c, in[0], in[1], out[0], out[1]);
}

SIMD_CLONES
static void adagrad_kernel(span s, float rate, float eps, const float *sum_in, float *sum_out)
{
    SIMD_LOOP
    for (size_t i = 0; i < s.n; i++) {
        float w = s.weight[i];
        float g = gradient(s.grad[i], w, &s);
        float sum = sum_in[i] + g * g;
        sum_out[i] = sum;
        s.weight_out[i] = w - rate * (g / (sqrtf(sum) + eps));
    }
}

static void adagrad(const optim *o, const optim_call *call, span s, const float *const *in,
                    float *const *out)
{
    double rate = (double)call->rate / (1.0 + ((double)call->step - 1.0) * o->lr_decay);
    adagrad_kernel(s, (float)rate, (float)o->eps, in[0], out[0]);
}

typedef struct rmsprop_constants {
    float rate, alpha, take, eps, momentum;
} rmsprop_constants;

/* State arrays in slot order; `centered` and `momentum` are constants at every call. */
static inline __attribute__((always_inline)) void
rmsprop_loop(const span *s, rmsprop_constants c, const float *const *in, float *const *out,
             const bool centered, const bool momentum)
{
    const float *square_in = in[0], *avg_in = centered ? in[1] : NULL;
    const float *v_in = momentum ? in[1 + centered] : NULL;
    float *square_out = out[0], *avg_out = centered ? out[1] : NULL;
    float *v_out = momentum ? out[1 + centered] : NULL;
    SIMD_LOOP
    for (size_t i = 0; i < s->n; i++) {
        float w = s->weight[i];
        float g = gradient(s->grad[i], w, s);
        float spread = c.alpha * square_in[i] + c.take * (g * g);
        square_out[i] = spread;
        if (centered) {
            float avg = c.alpha * avg_in[i] + c.take * g;
            avg_out[i] = avg;
            spread = spread - avg * avg;
            spread = spread < 0.0f ? 0.0f : spread; /* rounding may go below */
        }
        float move = g / (sqrtf(spread) + c.eps);
        if (momentum) {
            move = c.momentum * v_in[i] + move;
            v_out[i] = move;
        }
        s->weight_out[i] = w - c.rate * move;
    }
}

SIMD_CLONES
static void rmsprop_kernel(span s, rmsprop_constants c, const float *const *in, float *const *out,
                           bool centered, bool momentum)
{
    if (centered && momentum)
        rmsprop_loop(&s, c, in, out, true, true);
    else if (centered)
        rmsprop_loop(&s, c, in, out, true, false);
    else if (momentum)
        rmsprop_loop(&s, c, in, out, false, true);
    else
        rmsprop_loop(&s, c, in, out, false, false);
}

static void rmsprop(const optim *o, const optim_call *call, span s, const float *const *in,
                    float *const *out)
{
    rmsprop_constants c = {
        .rate = call->rate,
        .alpha = (float)o->alpha,
        .take = (float)(1.0 - o->alpha),
        .eps = (float)o->eps,
        .momentum = (float)o->momentum,
    };
    rmsprop_kernel(s, c, in, out, o->centered, o->momentum != 0);
}

static void apply(const optim *o, const optim_call *call, span s, const float *const *state_in,
                  float *const *state_out)
{
    switch (o->kind) {
    case OPTIM_SGD:
        sgd(o, call, s, state_in, state_out);
        break;
    case OPTIM_ADAM:
    case OPTIM_ADAMW:
        adam(o, call, s, state_in, state_out);
        break;
    case OPTIM_ADAGRAD:
        adagrad(o, call, s, state_in, state_out);
        break;
    case OPTIM_RMSPROP:
        rmsprop(o, call, s, state_in, state_out);
        break;
    }
}

void optim_apply(const optim *o, const optim_call *call, size_t n, const float *grad,
                 const float *weight_in, float *weight_out, const float *const *state_in,
                 float *const *state_out)
{
    span s = {
        .n = n,
        .grad = grad,
        .weight = weight_in,
        .weight_out = weight_out,
        .scale = call->scale,
        .limit = call->clip_value > 0 ? call->clip_value : INFINITY,
        .decay = call->decay ? (float)o->weight_decay : 0.0f,
    };
    apply(o, call, s, state_in, state_out);
}

SIMD_CLONES
static void average(float keep, float take, size_t n, const float *value, const float *in,
                    float *out)
{
    SIMD_LOOP
    for (size_t i = 0; i < n; i++)
        out[i] = keep * in[i] + take * value[i];
}

void optim_average(float momentum, size_t n, const float *value, const float *in, float *out)
{
    average(momentum, 1.0f - momentum, n, value, in, out);
}

SIMD_CLONES
static double square_sum(const float *x, size_t n)
{
    enum { LANES = 16 };
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t j = 0; i + j < n; j++)
        lane[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t j = 0; j < width; j++)
            lane[j] += lane[j + width];
    return lane[0];
}

double optim_square_sum(const float *x, size_t n)
{
    return square_sum(x, n);
}
