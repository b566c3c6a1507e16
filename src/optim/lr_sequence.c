#include "optim/lr_sequence.h"

static bool is_combined(const lr_sequence *s)
{
    return s->steps[0] > 0;
}

const char *lr_sequence_name(const lr_sequence *s)
{
    return is_combined(s) ? "combined" : lr_schedule_name(s->schedules[0].kind);
}

float lr_sequence_rate(const lr_sequence *s, int64_t step, uint32_t reductions)
{
    lr_schedule now = s->schedules[0];
    now.reductions = reductions;
    for (int i = 0; i < LR_SEQUENCE && s->steps[i] > 0 && step >= s->steps[i]; i++) {
        float last = lr_schedule_rate(&now, s->steps[i] - 1);
        step -= s->steps[i];
        now = s->schedules[i + 1];
        now.base = (double)last;
        now.reductions = reductions;
    }
    return lr_schedule_rate(&now, step);
}

bool lr_sequence_equal(const lr_sequence *a, const lr_sequence *b)
{
    return is_combined(a) || lr_schedule_equal(&a->schedules[0], &b->schedules[0]);
}
