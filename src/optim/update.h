/*
 * What an optimizer does to one element, and the constants of a step that it does it with: for the
 * loops of optim.c and for kernels of a device, which so make the same bits. Constants are combined
 * in double and rounded once. Pure functions.
 */
#ifndef TEQUIO_OPTIM_UPDATE_H
#define TEQUIO_OPTIM_UPDATE_H

#include "common/base/inline.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* g = clamp(scale * grad, -limit, limit), then g += decay * w */
typedef struct update_gradient {
    float scale, limit, decay;
} update_gradient;

typedef struct update_sgd {
    float rate, momentum, keep, take; /* v = keep*v + take*g */
    bool nesterov;
} update_sgd;

typedef struct update_adam {
    float keep_weight; /* adamw: 1 - rate * decay */
    float beta1, take1, beta2, take2;
    float rate, root, eps; /* rate / bias1, sqrt(bias2) */
} update_adam;

typedef struct update_adagrad {
    float rate, eps;
} update_adagrad;

typedef struct update_rmsprop {
    float rate, alpha, take, eps, momentum;
} update_rmsprop;

typedef enum update_kind {
    UPDATE_SGD,
    UPDATE_SGD_MOMENTUM,
    UPDATE_ADAM,
    UPDATE_ADAGRAD,
    UPDATE_RMSPROP,
} update_kind;

/* One step of one optimizer. */
typedef struct update {
    update_kind kind;
    size_t slots;
    bool centered, momentum; /* rmsprop */
    update_gradient gradient;
    union {
        update_sgd sgd;
        update_adam adam;
        update_adagrad adagrad;
        update_rmsprop rmsprop;
    } by;
} update;

typedef enum update_how {
    UPDATE_PLAIN,
    UPDATE_DECAYED,
    UPDATE_AVERAGE, /* batch-norm statistics: y = keep*y + take*x; they have no state, which is zeros */
} update_how;

/* Elements of a part, from a multiple of 4 on, and what becomes of them. */
typedef struct update_span {
    uint32_t first, n;
    update_how how;
    float keep, take;
} update_span;

/* One step of a part: spans ascend, and what lies between them stays as it is. */
typedef struct update_part {
    update by[2]; /* UPDATE_PLAIN, UPDATE_DECAYED */
    const update_span *spans;
    size_t n_spans;
} update_part;

struct optim;
struct optim_call;
update update_make(const struct optim *o, const struct optim_call *call);

/* The gradient as the formulas see it. Not-a-numbers pass through. */
INLINE float update_gradient_of(float grad, float w, const update_gradient *u)
{
    float g = grad * u->scale;
    g = g > u->limit ? u->limit : g < -u->limit ? -u->limit : g;
    return g + u->decay * w;
}

/* The new weight, from the old one and the gradient; states are replaced. */
INLINE float update_by_sgd(float w, float g, float rate)
{
    return w - rate * g;
}

INLINE float update_by_momentum(float w, float g, float *v, const update_sgd *u)
{
    *v = u->keep * *v + u->take * g;
    float move = u->nesterov ? g + u->momentum * *v : *v;
    return w - u->rate * move;
}

INLINE float update_by_adam(float w, float g, float *m, float *v, const update_adam *u)
{
    *m = u->beta1 * *m + u->take1 * g;
    *v = u->beta2 * *v + u->take2 * (g * g);
    return u->keep_weight * w - u->rate * (*m / (sqrtf(*v) / u->root + u->eps));
}

INLINE float update_by_adagrad(float w, float g, float *sum, const update_adagrad *u)
{
    *sum = *sum + g * g;
    return w - u->rate * (g / (sqrtf(*sum) + u->eps));
}

/* Without `avg` (not centered) or `v` (no momentum) these are NULL. */
INLINE float update_by_rmsprop(float w, float g, float *square, float *avg, float *v,
                               const update_rmsprop *u)
{
    *square = u->alpha * *square + u->take * (g * g);
    float spread = *square;
    if (avg) {
        *avg = u->alpha * *avg + u->take * g;
        spread = spread - *avg * *avg;
        spread = spread < 0.0f ? 0.0f : spread; /* rounding may go below */
    }
    float move = g / (sqrtf(spread) + u->eps);
    if (v) {
        *v = u->momentum * *v + move;
        move = *v;
    }
    return w - u->rate * move;
}

/* Batch-norm statistics: momentum*in + (1-momentum)*value, with the second factor rounded before.
 */
INLINE float update_by_average(float value, float in, float keep, float take)
{
    return keep * in + take * value;
}

#endif
