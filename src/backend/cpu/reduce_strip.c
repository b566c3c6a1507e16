#include "backend/cpu/reduce.h"

int64_t reduce_n_strips(const reduce_space *s)
{
    return (s->last + STRIP - 1) / STRIP * s->kept.count;
}

reduce_strip reduce_strip_at(const reduce_space *s, int64_t i)
{
    int64_t per_row = (s->last + STRIP - 1) / STRIP;
    int64_t row = i / per_row, column = i % per_row * STRIP;
    return (reduce_strip){.x = reduce_offset(&s->kept, row) + column,
                          .y = row * s->last + column,
                          .width = s->last - column < STRIP ? (int)(s->last - column) : STRIP};
}
