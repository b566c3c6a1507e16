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

enum { UPDATE_SLOTS = 3 }; /* states of an element at most */

/* g = clamp(scale * grad, -limit, limit), then g += decay * w */
typedef struct update_gradient {
    float scale, limit, decay;
} update_gradient;

typedef struct update_sgd {
    float rate, momentum, keep, take; /* v = keep*v + take*g */
    bool nesterov;
} update_sgd;

typedef struct update_adam {
    float keep_weight; /* decoupled decay: 1 - rate * decay */
    float beta1, take1, beta2, take2;
    float rate, root, eps; /* rate / bias1, sqrt(bias2) */
} update_adam;

typedef struct update_adagrad {
    float rate, eps;
} update_adagrad;

typedef struct update_rmsprop {
    float rate, alpha, take, eps, momentum;
} update_rmsprop;

typedef struct update_adadelta {
    float rate, rho, take, eps;
} update_adadelta;

typedef struct update_nadam {
    update_adam moments;
    float rate_gradient, rate_mean; /* of the gradient and of its mean, both over the root of squares */
} update_nadam;

typedef struct update_radam {
    update_adam moments;
    bool is_rectified; /* else by the mean alone */
    float scale;       /* rectification * sqrt(bias2) */
} update_radam;

typedef struct update_lion {
    float keep_weight, rate, beta1, take1, beta2, take2;
} update_lion;

typedef struct update_ftrl {
    float rate, inverse; /* 1 / rate; 0: nothing moves */
    float l1, l2;        /* twice the penalty */
} update_ftrl;

typedef enum update_kind {
#define UPDATE(KIND, name, slots) UPDATE_##KIND,
#include "optim/update.def"
#undef UPDATE
} update_kind;

/* One step of one optimizer. */
typedef struct update {
    update_kind kind;
    update_gradient gradient;
    union {
        update_sgd sgd;
        update_adam adam;
        update_adagrad adagrad;
        update_rmsprop rmsprop;
        update_adadelta adadelta;
        update_nadam nadam;
        update_radam radam;
        update_lion lion;
        update_ftrl ftrl;
    } by;
} update;

/* How a span moves: by one of the part's rules, 0 and up, or... */
enum {
    UPDATE_AVERAGE = -1, /* batch-norm statistics: y = keep*y + take*x; they have no state, which is zeros */
    UPDATE_NOT = -2,     /* not at all: weights and state stay */
};

/* Elements of a part, from a multiple of 4 on, and what becomes of them. */
typedef struct update_span {
    uint32_t first, n;
    int32_t how;
    float keep, take;
} update_span;

/* The axes of a tensor that its optimizer looks at; rank 0 or 1: a vector. */
typedef struct update_shape {
    int32_t rank;
    int64_t first, before_last, last;
} update_shape;

/* One step of a part: spans ascend, and what lies between them stays as it is. */
typedef struct update_part {
    const update *rules;
    const struct whole_rule *whole; /* in their place, of optimizers that need a tensor whole (whole.h); NULL: none */
    const update_shape *shapes;     /* [n_spans], where there are these */
    size_t slots;                   /* states of the part */
    bool averages;                  /* the last of them is a moving average of the weights, of all spans: */
    float average_keep, average_take; /* keep*average + take*weight; of statistics it is what they are */
    const update_span *spans;
    size_t n_spans;
} update_part;

struct optim;
struct optim_call;
update update_make(const struct optim *o, const struct optim_call *call);
/* Fills `averages` and what belongs to it, for the step t. */
void update_average(const struct optim *o, int64_t step, update_part *ret);

/* The gradient as the formulas see it. Not-a-numbers pass through. */
INLINE float update_gradient_of(float grad, float w, const update_gradient *u)
{
    float g = grad * u->scale;
    g = g > u->limit ? u->limit : g < -u->limit ? -u->limit : g;
    return g + u->decay * w;
}

/* The new weight, from the old one and the gradient; states s, in slot order, are replaced. */
INLINE float update_by_sgd(float w, float g, float *s, const update *by)
{
    (void)s;
    return w - by->by.sgd.rate * g;
}

INLINE float update_by_sgd_momentum(float w, float g, float *s, const update *by)
{
    const update_sgd *u = &by->by.sgd;
    s[0] = u->keep * s[0] + u->take * g;
    float move = u->nesterov ? g + u->momentum * s[0] : s[0];
    return w - u->rate * move;
}

INLINE void update_moments(float g, float *s, const update_adam *u)
{
    s[0] = u->beta1 * s[0] + u->take1 * g;
    s[1] = u->beta2 * s[1] + u->take2 * (g * g);
}

INLINE float update_by_adam(float w, float g, float *s, const update *by)
{
    const update_adam *u = &by->by.adam;
    update_moments(g, s, u);
    return u->keep_weight * w - u->rate * (s[0] / (sqrtf(s[1]) / u->root + u->eps));
}

/* eps before the bias is corrected, and decay behind the move: transformers' AdamW. */
INLINE float update_by_huggingface_adamw(float w, float g, float *s, const update *by)
{
    const update_adam *u = &by->by.adam;
    update_moments(g, s, u);
    return u->keep_weight * (w - u->rate * (s[0] / (sqrtf(s[1]) + u->eps)));
}

INLINE float update_by_adagrad(float w, float g, float *s, const update *by)
{
    s[0] = s[0] + g * g;
    return w - by->by.adagrad.rate * (g / (sqrtf(s[0]) + by->by.adagrad.eps));
}

/* The move before momentum; without `avg`, which is NULL, it is not centered. */
INLINE float update_rmsprop_move(float g, float *square, float *avg, const update_rmsprop *u)
{
    *square = u->alpha * *square + u->take * (g * g);
    float spread = *square;
    if (avg) {
        *avg = u->alpha * *avg + u->take * g;
        spread = spread - *avg * *avg;
        spread = spread < 0.0f ? 0.0f : spread; /* rounding may go below */
    }
    return g / (sqrtf(spread) + u->eps);
}

INLINE float update_by_rmsprop(float w, float g, float *s, const update *by)
{
    return w - by->by.rmsprop.rate * update_rmsprop_move(g, &s[0], (float *)0, &by->by.rmsprop);
}

INLINE float update_by_rmsprop_momentum(float w, float g, float *s, const update *by)
{
    s[1] = by->by.rmsprop.momentum * s[1] + update_rmsprop_move(g, &s[0], (float *)0, &by->by.rmsprop);
    return w - by->by.rmsprop.rate * s[1];
}

INLINE float update_by_rmsprop_centered(float w, float g, float *s, const update *by)
{
    return w - by->by.rmsprop.rate * update_rmsprop_move(g, &s[0], &s[1], &by->by.rmsprop);
}

INLINE float update_by_rmsprop_centered_momentum(float w, float g, float *s, const update *by)
{
    s[2] = by->by.rmsprop.momentum * s[2] + update_rmsprop_move(g, &s[0], &s[1], &by->by.rmsprop);
    return w - by->by.rmsprop.rate * s[2];
}

INLINE float update_by_adadelta(float w, float g, float *s, const update *by)
{
    const update_adadelta *u = &by->by.adadelta;
    s[0] = u->rho * s[0] + u->take * (g * g);
    float move = sqrtf(s[1] + u->eps) / sqrtf(s[0] + u->eps) * g;
    s[1] = u->rho * s[1] + u->take * (move * move);
    return w - u->rate * move;
}

INLINE float update_by_adamax(float w, float g, float *s, const update *by)
{
    const update_adam *u = &by->by.adam;
    float kept = u->beta2 * s[1], size = fabsf(g) + u->eps;
    s[0] = u->beta1 * s[0] + u->take1 * g;
    s[1] = kept > size ? kept : size;
    return w - u->rate * (s[0] / s[1]);
}

INLINE float update_by_nadam(float w, float g, float *s, const update *by)
{
    const update_nadam *u = &by->by.nadam;
    update_moments(g, s, &u->moments);
    float below = sqrtf(s[1]) / u->moments.root + u->moments.eps;
    return u->moments.keep_weight * w - (u->rate_gradient * g + u->rate_mean * s[0]) / below;
}

INLINE float update_by_radam(float w, float g, float *s, const update *by)
{
    const update_radam *u = &by->by.radam;
    update_moments(g, s, &u->moments);
    float adapted = s[0] * (u->scale / (sqrtf(s[1]) + u->moments.eps));
    return u->moments.keep_weight * w - u->moments.rate * (u->is_rectified ? adapted : s[0]);
}

INLINE float update_by_lion(float w, float g, float *s, const update *by)
{
    const update_lion *u = &by->by.lion;
    float along = u->beta1 * s[0] + u->take1 * g;
    float sign = along > 0.0f ? 1.0f : along < 0.0f ? -1.0f : along; /* not-a-numbers pass through */
    s[0] = u->beta2 * s[0] + u->take2 * g;
    return u->keep_weight * w - u->rate * sign;
}

INLINE float update_by_ftrl(float w, float g, float *s, const update *by)
{
    const update_ftrl *u = &by->by.ftrl;
    float sum = s[0] + g * g, root = sqrtf(sum);
    float linear = s[1] + (g - (root - sqrtf(s[0])) * u->inverse * w);
    float toward = linear > 0.0f ? u->l1 - linear : -u->l1 - linear;
    float next = toward / (root * u->inverse + u->l2);
    next = linear >= -u->l1 && linear <= u->l1 ? 0.0f : next;
    s[0] = sum;
    s[1] = linear;
    return u->rate > 0.0f ? next : w;
}

/* Batch-norm statistics: momentum*in + (1-momentum)*value, with the second factor rounded before.
 */
INLINE float update_by_average(float value, float in, float keep, float take)
{
    return keep * in + take * value;
}

#endif
