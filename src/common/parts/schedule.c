#include "common/parts/schedule.h"

int64_t schedule_unit_batches(const schedule *s, int64_t k)
{
    return s->in_order ? k : 1;
}

int64_t schedule_floor(const schedule *s, int64_t unit, int64_t k)
{
    if (s->in_order)
        return unit;
    int64_t turn = unit / k - s->staleness;
    return s->staleness < 0 || turn < 0 ? 0 : turn * k;
}

bool schedule_may_apply(const schedule *s, const batch_set *applied, int64_t unit)
{
    return s->in_order ? unit == applied->floor : !batch_set_has(applied, unit);
}

bool schedule_may_follow(const schedule *s, const batch_set *applied, int64_t unit)
{
    return !batch_set_has(applied, unit) && (!s->in_order || unit <= applied->floor + 1);
}

int64_t schedule_answer(const schedule *s, int64_t unit, int64_t newest)
{
    return s->in_order ? unit : newest;
}

bool schedule_lists_units(const schedule *s)
{
    return !s->in_order;
}
