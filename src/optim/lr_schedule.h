/*
 * Learning-rate schedules: rate(step) is a pure function, computed without libm. Any thread.
 *
 *   constant           base
 *   step               base * gamma^floor(s / step_size)
 *   cosine             minimum + (base - minimum) * (1 + cos(pi * s / n)) / 2
 *   linear             base * (1 - s / n), not below minimum
 *   slanted_triangular Howard and Ruder 2018, as AllenNLP: cut = int(n * cut_fraction),
 *                      p = s < cut ? s / cut : 1 - (s - cut) / (n - cut),
 *                      base * (1 + p*(ratio-1)) / ratio
 *
 * s = step - warmup_steps, n = total_steps - warmup_steps. During warm-up the rate climbs linearly:
 * base * (step + 1) / (warmup_steps + 1). `step` counts from 0. From step total_steps on the rate
 * stays what it is there. With nothing to fall over (n <= 0) it stays at base. Never negative.
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
} lr_schedule_kind;

typedef struct lr_schedule {
    lr_schedule_kind kind;
    double base, minimum;
    int64_t warmup_steps, total_steps;
    int64_t step_size;          /* step */
    double gamma;               /* step */
    double cut_fraction, ratio; /* slanted_triangular */
} lr_schedule;

bool lr_schedule_kind_of(const char *name, lr_schedule_kind *ret);
const char *lr_schedule_name(lr_schedule_kind kind);
float lr_schedule_rate(const lr_schedule *s, int64_t step);

/* Of schedules alike but for total_steps: have they the same rates, as long as training goes? */
bool lr_schedule_equal(const lr_schedule *a, const lr_schedule *b);

#endif
