#include "common/live/clock_offset.h"

#include <pthread.h>
#include <stdatomic.h>

/* 285 years: sums of a few such stay within 64 bits. */
static const int64_t clock_most = INT64_C(1) << 53;

static bool is_clock(int64_t us)
{
    return us >= 0 && us <= clock_most;
}

void clock_offset_add(clock_offset *c, int64_t sent_us, int64_t theirs_us, int64_t received_us)
{
    if (!is_clock(sent_us) || !is_clock(theirs_us) || !is_clock(received_us) || received_us < sent_us)
        return;
    int64_t trip = received_us - sent_us;
    c->trips[c->n++ % CLOCK_TRIPS] = (clock_estimate){
        .offset_us = theirs_us - (sent_us + trip / 2),
        .error_us = trip / 2 + trip / CLOCK_DRIFT + 3, /* moments are cut to whole microseconds */
        .at_us = received_us,
    };
}

static clock_estimate aged(clock_estimate e, int64_t now_us)
{
    int64_t age = now_us > e.at_us ? now_us - e.at_us : e.at_us - now_us;
    e.error_us += (age + CLOCK_DRIFT - 1) / CLOCK_DRIFT;
    e.at_us = now_us;
    return e;
}

bool clock_offset_now(const clock_offset *c, int64_t now_us, clock_estimate *ret)
{
    uint32_t n = c->n < CLOCK_TRIPS ? c->n : CLOCK_TRIPS;
    for (uint32_t i = 0; i < n; i++) {
        clock_estimate e = aged(c->trips[i], now_us);
        if (i == 0 || e.error_us < ret->error_us)
            *ret = e;
    }
    return n > 0;
}

/* Read without waiting, also by signal handlers: `turn` is odd while it changes. */
static struct {
    pthread_mutex_t lock;           /* of who changes it */
    bool is_here;
    _Atomic uint32_t turn;
    _Atomic int64_t offset_us, error_us, at_us; /* error_us -1: not known */
} master_clock = {.lock = PTHREAD_MUTEX_INITIALIZER, .error_us = -1};

static void set_master_clock(clock_estimate e)
{
    atomic_fetch_add_explicit(&master_clock.turn, 1, memory_order_acquire);
    atomic_store_explicit(&master_clock.offset_us, e.offset_us, memory_order_release);
    atomic_store_explicit(&master_clock.error_us, e.error_us, memory_order_release);
    atomic_store_explicit(&master_clock.at_us, e.at_us, memory_order_release);
    atomic_fetch_add_explicit(&master_clock.turn, 1, memory_order_release);
}

void clock_master_is_here(void)
{
    pthread_mutex_lock(&master_clock.lock);
    master_clock.is_here = true;
    set_master_clock((clock_estimate){.at_us = -1});
    pthread_mutex_unlock(&master_clock.lock);
}

void clock_master_learn(const clock_estimate *e)
{
    if (!is_clock(e->error_us) || e->offset_us < -clock_most || e->offset_us > clock_most)
        return;
    clock_estimate learnt = *e;
    if (learnt.error_us <= 0)
        learnt.error_us = -1;
    pthread_mutex_lock(&master_clock.lock);
    if (!master_clock.is_here)
        set_master_clock(learnt);
    pthread_mutex_unlock(&master_clock.lock);
}

bool clock_master_now(int64_t now_us, clock_estimate *ret)
{
    enum { TRIES = 1000 };          /* whom a handler interrupts may be changing it */
    for (int i = 0; i < TRIES; i++) {
        uint32_t turn = atomic_load_explicit(&master_clock.turn, memory_order_acquire);
        clock_estimate e = {atomic_load_explicit(&master_clock.offset_us, memory_order_acquire),
                            atomic_load_explicit(&master_clock.error_us, memory_order_acquire),
                            atomic_load_explicit(&master_clock.at_us, memory_order_acquire)};
        if (turn % 2 || turn != atomic_load_explicit(&master_clock.turn, memory_order_relaxed))
            continue;
        if (e.error_us >= 0)
            *ret = e.error_us ? aged(e, now_us) : (clock_estimate){.at_us = now_us};
        return e.error_us >= 0;
    }
    return false;
}
