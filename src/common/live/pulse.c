#include "common/live/pulse.h"

#include <stdatomic.h>

static struct {
    _Atomic int64_t turned_us;          /* 0: nobody looks at it */
    atomic_bool is_ready;
} pulses[ROLE_COUNT];

void pulse_turn(role r, int64_t now_us)
{
    atomic_store_explicit(&pulses[r].turned_us, now_us, memory_order_relaxed);
}

void pulse_rest(role r)
{
    atomic_store_explicit(&pulses[r].turned_us, 0, memory_order_relaxed);
}

void pulse_set_ready(role r, bool is_ready)
{
    atomic_store_explicit(&pulses[r].is_ready, is_ready, memory_order_relaxed);
}

bool pulse_is_ready(role r)
{
    return atomic_load_explicit(&pulses[r].is_ready, memory_order_relaxed);
}

double pulse_silence(role r, int64_t now_us)
{
    int64_t turned = atomic_load_explicit(&pulses[r].turned_us, memory_order_relaxed);
    return turned && now_us > turned ? (double)(now_us - turned) * 1e-6 : 0;
}
