/*
 * Optimizers on spans of float32. The servers use them on parts, a one-process run on the same
 * parts: same code, same order, same bits.
 *
 * Every update but those of whole.h is element-wise, so its bits do not depend on how a tensor is cut; the vectorised
 * kernels have one body for all elements (no scalar tail with another rounding) and use only
 * IEEE 754 add, multiply, divide and square root, without contraction.
 *
 * Formulas (g is the summed, clipped gradient; t counts from 1; as in PyTorch):
 *   sgd      v = momentum*v + (1-dampening)*g (first step: v = g);
 *            w -= lr*(nesterov ? g + momentum*v : v); weight decay is added to g first
 *   adam     L2 decay added to g; adamw: w *= 1 - lr*decay first;
 *            bias-corrected, eps outside the root
 *   huggingface_adamw  as transformers' AdamW: eps before the bias is corrected, decay after the move
 *   adagrad  lr / (1 + (t-1)*lr_decay); s += g*g; w -= lr*g/(sqrt(s)+eps)
 *   rmsprop  s = alpha*s + (1-alpha)*g*g; w -= lr*g/(sqrt(s)+eps); optional momentum, centered
 *            (s minus the square of the average g, not below 0)
 *   adadelta, adamax, nadam, radam  as PyTorch has them
 *   lion     Chen et al. 2023: w *= 1 - lr*decay; w -= lr*sign(beta1*m + (1-beta1)*g);
 *            m = beta2*m + (1-beta2)*g
 *   ftrl     McMahan et al. 2013, as TensorFlow with learning_rate_power -0.5: n' = n + g*g;
 *            z += g - (sqrt(n') - sqrt(n))/lr*w; w = |z| <= l1 ? 0 : (sign(z)*l1 - z) / (sqrt(n')/lr + 2*l2)
 *   lars, lamb, adafactor, muon  whole.h
 *
 * Constants are combined in double and rounded to float once (1 - beta2 keeps its digits).
 *
 * Threads: an optim is immutable once made.
 */
#ifndef TEQUIO_OPTIM_OPTIM_H
#define TEQUIO_OPTIM_OPTIM_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum optim_kind {
    OPTIM_SGD,
    OPTIM_ADAM,
    OPTIM_ADAMW,
    OPTIM_ADAGRAD,
    OPTIM_RMSPROP,
    OPTIM_HUGGINGFACE_ADAMW,
    OPTIM_ADADELTA,
    OPTIM_ADAMAX,
    OPTIM_NADAM,
    OPTIM_RADAM,
    OPTIM_LION,
    OPTIM_FTRL,
    OPTIM_LARS, /* this and the next ones need tensors whole: optim_is_whole */
    OPTIM_LAMB,
    OPTIM_ADAFACTOR,
    OPTIM_MUON,
    OPTIM_KINDS
} optim_kind;

enum { OPTIM_SLOTS = 4 };

/* Of the weights, behind each step t: average = d*average + (1-d)*w, d = min(decay, (numerator+t) / (denominator+t)).
 * It begins as the weights. As AllenNLP's exponential. */
typedef struct optim_average {
    bool is_kept;
    double decay, numerator, denominator;
} optim_average;

typedef struct optim {
    optim_kind kind;
    double momentum;     /* sgd, rmsprop */
    bool shares_momentum; /* its state is kept even without: another group has momentum */
    double dampening;    /* sgd */
    bool nesterov;       /* sgd */
    double beta1, beta2; /* all of Adam's kind, lion */
    bool corrects_bias;  /* huggingface_adamw */
    double alpha;        /* rmsprop; adadelta's rho */
    bool centered;       /* rmsprop */
    double eps;
    double weight_decay;
    bool is_decoupled;          /* nadam, radam: decay shrinks the weight */
    double momentum_decay;      /* nadam */
    double trust_coefficient;   /* lars */
    double decay_rate, clip_threshold, eps_scale;           /* adafactor; its beta1 is `momentum` */
    bool scales_parameter, relative_step, warmup_init;      /* adafactor */
    int64_t ns_steps;           /* muon */
    bool matches_rms, by_adamw; /* muon: the rate's share; all tensors as its vectors */
    double l1, l2;              /* ftrl */
    optim_average average;      /* another state, the last one */
    double lr_decay;            /* adagrad */
    double initial_accumulator; /* adagrad, ftrl */
} optim;

/* "sgd", "adam", ...; false for any other name. */
bool optim_kind_of(const char *name, optim_kind *ret);

/* The state vectors this optimizer keeps for each weight, at most OPTIM_SLOTS. */
size_t optim_slots(const optim *o);
const char *optim_slot_name(const optim *o, size_t slot); /* "momentum", "exp_avg", ... */
float optim_slot_initial(const optim *o, size_t slot);
/* The moving average of the weights, which begins as they are. */
bool optim_slot_is_average(const optim *o, size_t slot);

typedef struct optim_call {
    int64_t step;     /* t, from 1 */
    float rate;       /* learning rate of this step */
    float scale;      /* multiplies g first (total-norm clipping); 1 for none */
    float clip_value; /* then g is clamped to [-clip_value, clip_value]; 0: no */
    bool decay;       /* weight decay applies to this span */
} optim_call;

/* n elements, by an optimizer that is element-wise. in and out may be the same memory or not overlap at all;
 * state_in/out have optim_slots(o) entries. */
void optim_apply(const optim *o, const optim_call *call, size_t n, const float *grad,
                 const float *weight_in, float *weight_out, const float *const *state_in,
                 float *const *state_out);

/* What a step makes of elements [begin, end) of a part. Arrays begin with the part; of each output what no span
 * of `u` covers stays as it is. */
struct update_part;
void optim_update(const struct update_part *u, size_t begin, size_t end, const float *grad,
                  const float *weight_in, float *weight_out, float *const *state_in,
                  float *const *state_out);

/* The moving average of n elements of u, a step further; `value` is what the weights are now. */
void optim_average_apply(const struct update_part *u, size_t n, const float *value, const float *in, float *out);

/* Sum of squares of n <= 4096 elements in double, in a fixed order: one block of a norm. Element i
 * goes to lane i % 16; the lanes are then added pairwise. */
double optim_square_sum(const float *x, size_t n);

#endif
