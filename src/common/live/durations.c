#include "common/live/durations.h"

#include "common/cluster/cluster.h"

const duration_row duration_rows[DURATION_COUNT] = {
#define DURATION(id, of, name, help) {ROLE_##of, name, help},
#include "common/live/durations.def"
#undef DURATION
};

const int64_t duration_bounds_us[DURATION_BOUNDS] = {1000,    4000,    16000,    64000,    250000,
                                                     1000000, 4000000, 16000000, 64000000, 256000000};

static struct {
    _Atomic int64_t counts[DURATION_BOUNDS + 1], sum_us;
} all[DURATION_COUNT];

void duration_note(duration d, int64_t took_us)
{
    int piece = 0;
    while (piece < DURATION_BOUNDS && took_us > duration_bounds_us[piece])
        piece++;
    atomic_fetch_add_explicit(&all[d].counts[piece], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&all[d].sum_us, took_us, memory_order_relaxed);
}

void duration_look(duration d, duration_state *ret)
{
    for (int i = 0; i <= DURATION_BOUNDS; i++)
        ret->counts[i] = atomic_load_explicit(&all[d].counts[i], memory_order_relaxed);
    ret->sum_us = atomic_load_explicit(&all[d].sum_us, memory_order_relaxed);
}
