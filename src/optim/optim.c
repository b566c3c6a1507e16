#include "optim/optim.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"
#include "common/base/simd.h"
#include "optim/update.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
    [OPTIM_SGD] = "sgd",         [OPTIM_ADAM] = "adam",       [OPTIM_ADAMW] = "adamw",
    [OPTIM_ADAGRAD] = "adagrad", [OPTIM_RMSPROP] = "rmsprop",
};

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

update update_make(const optim *o, const optim_call *call)
{
    double rate = (double)call->rate;
    bool first = call->step == 1, decays = call->decay;
    update u = {.slots = optim_slots(o),
                .gradient = {.scale = call->scale,
                             .limit = call->clip_value > 0 ? call->clip_value : INFINITY,
                             .decay = decays ? (float)o->weight_decay : 0.0f}};
    switch (o->kind) {
    case OPTIM_SGD:
        u.kind = o->momentum == 0 ? UPDATE_SGD : UPDATE_SGD_MOMENTUM;
        u.by.sgd = (update_sgd){.rate = call->rate,
                                .momentum = (float)o->momentum,
                                .keep = first ? 0.0f : (float)o->momentum,
                                .take = first ? 1.0f : (float)(1.0 - o->dampening),
                                .nesterov = o->nesterov};
        break;
    case OPTIM_ADAMW:
        u.gradient.decay = 0.0f;
        /* fall through */
    case OPTIM_ADAM:
        decays = decays && o->kind == OPTIM_ADAMW;
        u.kind = UPDATE_ADAM;
        u.by.adam =
            (update_adam){.keep_weight = (float)(decays ? 1.0 - rate * o->weight_decay : 1.0),
                          .beta1 = (float)o->beta1,
                          .take1 = (float)(1.0 - o->beta1),
                          .beta2 = (float)o->beta2,
                          .take2 = (float)(1.0 - o->beta2),
                          .rate = (float)(rate / (1.0 - det_pow(o->beta1, (double)call->step))),
                          .root = (float)det_sqrt(1.0 - det_pow(o->beta2, (double)call->step)),
                          .eps = (float)o->eps};
        break;
    case OPTIM_ADAGRAD:
        u.kind = UPDATE_ADAGRAD;
        rate /= 1.0 + ((double)call->step - 1.0) * o->lr_decay;
        u.by.adagrad = (update_adagrad){.rate = (float)rate, .eps = (float)o->eps};
        break;
    case OPTIM_RMSPROP:
        u.kind = UPDATE_RMSPROP;
        u.centered = o->centered;
        u.momentum = o->momentum != 0;
        u.by.rmsprop = (update_rmsprop){.rate = call->rate,
                                        .alpha = (float)o->alpha,
                                        .take = (float)(1.0 - o->alpha),
                                        .eps = (float)o->eps,
                                        .momentum = (float)o->momentum};
        break;
    }
    return u;
}

/* What the loops work on. */
typedef struct operands {
    size_t n;
    const float *grad, *weight;
    float *weight_out;
    update_gradient gradient;
} operands;

SIMD_CLONES
static void sgd_loop(operands s, float rate)
{
    SIMD_LOOP
    for (size_t i = 0; i < s.n; i++) {
        float w = s.weight[i], g = update_gradient_of(s.grad[i], w, &s.gradient);
        s.weight_out[i] = update_by_sgd(w, g, rate);
    }
}

SIMD_CLONES
static void momentum_loop(operands s, update_sgd u, const float *v_in, float *v_out)
{
    SIMD_LOOP
    for (size_t i = 0; i < s.n; i++) {
        float w = s.weight[i], g = update_gradient_of(s.grad[i], w, &s.gradient), v = v_in[i];
        w = update_by_momentum(w, g, &v, &u);
        v_out[i] = v;
        s.weight_out[i] = w;
    }
}

SIMD_CLONES
static void adam_loop(operands s, update_adam u, const float *m_in, const float *v_in, float *m_out,
                      float *v_out)
{
    SIMD_LOOP
    for (size_t i = 0; i < s.n; i++) {
        float w = s.weight[i], g = update_gradient_of(s.grad[i], w, &s.gradient);
        float m = m_in[i], v = v_in[i];
        w = update_by_adam(w, g, &m, &v, &u);
        m_out[i] = m;
        v_out[i] = v;
        s.weight_out[i] = w;
    }
}

SIMD_CLONES
static void adagrad_loop(operands s, update_adagrad u, const float *sum_in, float *sum_out)
{
    SIMD_LOOP
    for (size_t i = 0; i < s.n; i++) {
        float w = s.weight[i], g = update_gradient_of(s.grad[i], w, &s.gradient), sum = sum_in[i];
        w = update_by_adagrad(w, g, &sum, &u);
        sum_out[i] = sum;
        s.weight_out[i] = w;
    }
}

/* State arrays in slot order; `centered` and `momentum` are constants at every call. */
static inline __attribute__((always_inline)) void
rmsprop_any(const operands *s, update_rmsprop u, const float *const *in, float *const *out,
            const bool centered, const bool momentum)
{
    const float *square_in = in[0], *avg_in = centered ? in[1] : NULL;
    const float *v_in = momentum ? in[1 + centered] : NULL;
    float *square_out = out[0], *avg_out = centered ? out[1] : NULL;
    float *v_out = momentum ? out[1 + centered] : NULL;
    SIMD_LOOP
    for (size_t i = 0; i < s->n; i++) {
        float w = s->weight[i], g = update_gradient_of(s->grad[i], w, &s->gradient);
        float square = square_in[i], avg = centered ? avg_in[i] : 0.0f;
        float v = momentum ? v_in[i] : 0.0f;
        w = update_by_rmsprop(w, g, &square, centered ? &avg : NULL, momentum ? &v : NULL, &u);
        square_out[i] = square;
        if (centered)
            avg_out[i] = avg;
        if (momentum)
            v_out[i] = v;
        s->weight_out[i] = w;
    }
}

SIMD_CLONES
static void rmsprop_loop(operands s, update_rmsprop u, const float *const *in, float *const *out,
                         bool centered, bool momentum)
{
    if (centered && momentum)
        rmsprop_any(&s, u, in, out, true, true);
    else if (centered)
        rmsprop_any(&s, u, in, out, true, false);
    else if (momentum)
        rmsprop_any(&s, u, in, out, false, true);
    else
        rmsprop_any(&s, u, in, out, false, false);
}

static void apply(const update *u, operands s, const float *const *in, float *const *out)
{
    switch (u->kind) {
    case UPDATE_SGD:
        sgd_loop(s, u->by.sgd.rate);
        break;
    case UPDATE_SGD_MOMENTUM:
        momentum_loop(s, u->by.sgd, in[0], out[0]);
        break;
    case UPDATE_ADAM:
        adam_loop(s, u->by.adam, in[0], in[1], out[0], out[1]);
        break;
    case UPDATE_ADAGRAD:
        adagrad_loop(s, u->by.adagrad, in[0], out[0]);
        break;
    case UPDATE_RMSPROP:
        rmsprop_loop(s, u->by.rmsprop, in, out, u->centered, u->momentum);
        break;
    }
}

void optim_apply(const optim *o, const optim_call *call, size_t n, const float *grad,
                 const float *weight_in, float *weight_out, const float *const *state_in,
                 float *const *state_out)
{
    update u = update_make(o, call);
    operands s = {.n = n,
                  .grad = grad,
                  .weight = weight_in,
                  .weight_out = weight_out,
                  .gradient = u.gradient};
    apply(&u, s, state_in, state_out);
}

SIMD_CLONES
static void average(float keep, float take, size_t n, const float *value, const float *in,
                    float *out)
{
    SIMD_LOOP
    for (size_t i = 0; i < n; i++)
        out[i] = update_by_average(value[i], in[i], keep, take);
}

static void update_span_by(const update *u, size_t at, size_t n, const float *grad, const float *weight_in,
                           float *weight_out, float *const *state_in, float *const *state_out)
{
    const float *in[OPTIM_SLOTS] = {NULL};
    float *out[OPTIM_SLOTS] = {NULL};
    for (size_t i = 0; i < u->slots; i++) {
        in[i] = state_in[i] + at;
        out[i] = state_out[i] + at;
    }
    operands s = {.n = n,
                  .grad = grad + at,
                  .weight = weight_in + at,
                  .weight_out = weight_out + at,
                  .gradient = u->gradient};
    apply(u, s, in, out);
}

/* Memory that held something else before: checkpoints of the same state have the same bytes. */
static void clear_state(const update *u, size_t at, size_t n, float *const *state_out)
{
    for (size_t i = 0; i < u->slots; i++)
        memset(state_out[i] + at, 0, n * sizeof(float));
}

void optim_update(const update_part *u, size_t begin, size_t end, const float *grad,
                  const float *weight_in, float *weight_out, float *const *state_in,
                  float *const *state_out)
{
    for (size_t i = 0; i < u->n_spans; i++) {
        const update_span *s = &u->spans[i];
        size_t from = s->first > begin ? s->first : begin, to = (size_t)s->first + s->n;
        to = to < end ? to : end;
        if (from >= to)
            continue;
        if (s->how == UPDATE_AVERAGE) {
            average(s->keep, s->take, to - from, grad + from, weight_in + from, weight_out + from);
            clear_state(&u->by[UPDATE_PLAIN], from, to - from, state_out);
        } else {
            update_span_by(&u->by[s->how], from, to - from, grad, weight_in, weight_out, state_in,
                           state_out);
        }
    }
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
