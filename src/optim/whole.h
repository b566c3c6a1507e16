/*
 * Optimizers that need a tensor whole: LARS and LAMB its norms, Adafactor (adafactor.h) and Muon (muon.h) its rows and
 * columns. A step of a part has turns, and every tensor of the part lies in it whole (flat.h), so nobody else is asked:
 *
 *   1. whole_direct   where each element would go: the gradient (LARS, Adafactor), the corrected means and decay
 *                     (LAMB), the momentum (Muon)
 *   2. whole_tensor   of Adafactor and Muon: what becomes of that, a tensor at a time
 *   3. whole_measure  sums of squares of weights and directions, by blocks of 4096 from a tensor's first element;
 *      whole_trust    and from them the share of the rate that the tensor may take
 *   4. whole_move     weights, the rest of the state, the moving average; and what moves by other rules
 *
 *   trust    coefficient * |w| / (|d| + decay * |w| + eps); 1 where either norm is 0, or the tensor is spared
 *   lars     You et al. 2017: d = g; v = momentum*v + (1-dampening)*trust*(g + decay*w) (first step: without those
 *            two); w -= lr*(nesterov ? trust*(g + decay*w) + momentum*v : v). lr is in no state, as in PyTorch
 *   lamb     You et al. 2020, algorithm 2: m, v as adam's, corrected; d = m / (sqrt(v) + eps) + decay*w;
 *            w -= lr*trust*d, with the coefficient 1 and neither decay nor eps in the trust
 *
 *   adafactor  d = g / root of second moments, / max(1, rms(d) / clip_threshold); lr' = lr * (scale_parameter ?
 *            max(eps_scale, rms(w)) : 1); d *= lr', a mean of it where there is beta1; w -= lr'*decay*w + d
 *   muon     m = momentum*m + (1-momentum)*g; d = orthogonal factor of (nesterov ? momentum*m + (1-momentum)*g : m),
 *            of a tensor as a matrix of its first axis and the others; w -= lr*decay*w + lr*share*d, share =
 *            sqrt(max(1, rows / columns)) or, to match AdamW's rms, 0.2*sqrt(max(rows, columns)). Vectors, and groups
 *            that say so, go by AdamW
 *
 * Blocks are added in their order, in double, so neither the cut of the work nor the part's place shows.
 *
 * Threads: turns come one after the other; in a turn pieces belong to any thread.
 */
#ifndef TEQUIO_OPTIM_WHOLE_H
#define TEQUIO_OPTIM_WHOLE_H

#include "common/parts/flat.h"
#include "optim/group.h"
#include "optim/update.h"

typedef enum whole_kind { WHOLE_LARS, WHOLE_LAMB, WHOLE_ADAFACTOR, WHOLE_MUON } whole_kind;

/* The constants of a step. */
typedef struct whole_rule {
    whole_kind kind;
    update_gradient gradient;   /* without decay */
    float rate, decay;
    float momentum, keep, take; /* lars */
    bool nesterov;
    update_adam moments;        /* lamb; its rate is 1 / bias1 */
    bool is_adaptive;           /* else the trust is 1 */
    double coefficient, trust_decay, trust_eps;
    double step;                /* adafactor, muon: the rate */
    double second_keep, eps, eps_scale, clip_threshold; /* adafactor; eps_scale 0: no scale by the weights */
    bool keeps_mean;            /* adafactor: of moves */
    int64_t ns_steps;           /* muon */
    bool matches_rms;
    bool by_element;            /* all tensors by the part's `rules` */
    size_t room;                /* floats for each element */
} whole_rule;

bool optim_is_whole(const optim *o);
/* Whether vectors go by a rule of update.h, which the part has too. */
bool optim_has_elements(const optim *o);
/* Floats of room that a step takes for each element of a tensor that goes by the optimizer's rule. */
size_t optim_room(const optim *o);
whole_rule whole_rule_make(const optim *o, const optim_call *call);

/* The vectors of a part. What goes out is not what comes in, but for the state, which may be. */
typedef struct whole_vectors {
    const float *grad, *weight_in;
    float *weight_out;
    float *const *state_in, *const *state_out;
} whole_vectors;

typedef struct whole_step whole_step;

/* Floats that tensors of a part work in, at most: those of one part at a time, each in its own. */
size_t whole_room(const flat *f, const optim_group *groups);

/* For parts of so many spans and elements, and so many floats to work in. */
MUST_USE status whole_create(size_t most_spans, size_t most_elements, size_t room, whole_step **ret, error *err);
void whole_destroy(whole_step **w);

/* Of the part `u`, whose spans go by u->whole; both stay while its turns last. Returns how many blocks are measured. */
size_t whole_begin(whole_step *w, const update_part *u, whole_vectors v);
void whole_direct(whole_step *w, size_t begin, size_t end);     /* elements of the part */
void whole_tensor(whole_step *w, size_t span);                  /* of the part */
void whole_measure(whole_step *w, size_t block);
void whole_trust(whole_step *w);                                /* all at once */
void whole_move(whole_step *w, size_t begin, size_t end);

#endif
