/*
 * Learning-rate schedules: rate(step) is a pure function, computed without libm. Any thread.
 *
 * s counts steps from 0, n is total_steps, w is warmup_steps, e the number of units of unit_steps that are over.
 *
 *   constant           base
 *   step               base * gamma^floor(e / step_size)
 *   multi_step         base * gamma^(milestones that e has reached)
 *   exponential        base * gamma^e
 *   cosine             minimum + (base - minimum) * (1 + cos(pi * s / n)) / 2; with first_cycle, as AllenNLP:
 *                      by e, in cycles of which each is cycle_factor times as long as the one before and begins at
 *                      base_factor times its rate
 *   linear             base * (1 - s / n), not below minimum
 *   slanted_triangular Howard and Ruder 2018, as AllenNLP: cut = int(n * cut_fraction),
 *                      p = s < cut ? s / cut : 1 - (s - cut) / (n - cut),
 *                      base * (1 + p*(ratio-1)) / ratio. Each of the first frozen_units units has a curve of its
 *                      own, and the rest of training one
 *   one_cycle          Smith 2018, as PyTorch: half a cosine from base / start_ratio up to base at
 *                      cut_fraction * n - 1, and one from there down to base / (start_ratio * end_ratio) at n - 1
 *
 * Before these comes a warm-up: base * (s + 1) / (w + 1) while s < w; then s and n count from its end. The next ones
 * have their own, as AllenNLP and transformers do: base * s / w, so that the first step moves nothing.
 *
 *   constant_with_warmup                base
 *   polynomial_decay                    minimum + (base - minimum) * ((n - s) / (n - w))^power;
 *                                       linear_with_warmup is one of power 1
 *   cosine_with_warmup                  base * (1 + cos(2 pi * cycles * p)) / 2, p = (s - w) / (n - w)
 *   cosine_hard_restarts_with_warmup    base * (1 + cos(pi * (cycles * p mod 1))) / 2
 *   noam                                factor * model_size^-0.5 * min(s^-0.5, s * w^-1.5), s at least 1, whatever
 *                                       base is
 *
 * One goes by how training went, and by no step (plateau.h):
 *
 *   reduce_on_plateau  base, times factor for each of its `reductions`, not below minimum; one that changes no more
 *                      than eps is none
 *
 * From step total_steps on the rate stays what it is there. With nothing to fall over (n <= 0) it stays at base.
 * Never negative.
 */
#ifndef TEQUIO_OPTIM_LR_SCHEDULE_H
#define TEQUIO_OPTIM_LR_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum lr_schedule_kind {
    LR_SCHEDULE_CONSTANT,
    LR_SCHEDULE_STEP,
    LR_SCHEDULE_COSINE,
    LR_SCHEDULE_LINEAR,
    LR_SCHEDULE_SLANTED_TRIANGULAR,
    LR_SCHEDULE_MULTI_STEP,
    LR_SCHEDULE_EXPONENTIAL,
    LR_SCHEDULE_ONE_CYCLE,
    LR_SCHEDULE_CONSTANT_WITH_WARMUP,
    LR_SCHEDULE_LINEAR_WITH_WARMUP,
    LR_SCHEDULE_POLYNOMIAL_DECAY,
    LR_SCHEDULE_COSINE_WITH_WARMUP,
    LR_SCHEDULE_COSINE_HARD_RESTARTS,
    LR_SCHEDULE_NOAM,
    LR_SCHEDULE_REDUCE_ON_PLATEAU,
    LR_SCHEDULE_KINDS
} lr_schedule_kind;

enum { LR_MILESTONES = 16 };

typedef struct lr_schedule {
    lr_schedule_kind kind;
    double base, minimum;
    int64_t warmup_steps, total_steps;
    int64_t unit_steps;         /* of a unit: 1, or an epoch's; 0 is 1 */
    int64_t step_size;          /* step */
    double gamma;               /* step, multi_step, exponential */
    int64_t milestones[LR_MILESTONES];
    int n_milestones;           /* multi_step */
    double cut_fraction, ratio; /* slanted_triangular; one_cycle has a cut too */
    int64_t frozen_units;       /* slanted_triangular */
    int64_t first_cycle;        /* cosine: units; 0: one curve over all steps */
    double cycle_factor, base_factor;
    double start_ratio, end_ratio; /* one_cycle */
    double power;                  /* polynomial_decay, linear_with_warmup */
    double cycles;                 /* cosine_with_warmup, cosine_hard_restarts_with_warmup */
    double factor, model_size;     /* noam; reduce_on_plateau has a factor too */
    double eps;                    /* reduce_on_plateau */
    uint32_t reductions;           /* of reduce_on_plateau: so many were made before the step */
} lr_schedule;

bool lr_schedule_kind_of(const char *name, lr_schedule_kind *ret);
const char *lr_schedule_name(lr_schedule_kind kind);
float lr_schedule_rate(const lr_schedule *s, int64_t step);

/* Of schedules alike but for total_steps: have they the same rates, as long as training goes? */
bool lr_schedule_equal(const lr_schedule *a, const lr_schedule *b);

/*
 * Momentum over units, as AllenNLP's inverted_triangular: in cool_down units it falls to 1/ratio of itself, in warm_up
 * units it climbs back, and then stays.
 */
typedef struct momentum_schedule {
    int64_t cool_down, warm_up; /* units; both 0: it stays */
    int64_t unit_steps;
    double ratio;
} momentum_schedule;

/* What momentum is multiplied by in a step. */
double momentum_schedule_share(const momentum_schedule *s, int64_t step);

#endif
