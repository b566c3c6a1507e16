#include "common/live/clock_offset.h"

#include <pthread.h>

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

static struct {
    pthread_mutex_t lock;
    clock_estimate is;
    bool known, here;
} master_clock = {.lock = PTHREAD_MUTEX_INITIALIZER};

void clock_master_is_here(void)
{
    pthread_mutex_lock(&master_clock.lock);
    master_clock.here = master_clock.known = true;
    master_clock.is = (clock_estimate){0};
    pthread_mutex_unlock(&master_clock.lock);
}

void clock_master_learn(const clock_estimate *e)
{
    if (!is_clock(e->error_us) || e->offset_us < -clock_most || e->offset_us > clock_most)
        return;
    pthread_mutex_lock(&master_clock.lock);
    if (!master_clock.here) {
        master_clock.is = *e;
        master_clock.known = e->error_us > 0;
    }
    pthread_mutex_unlock(&master_clock.lock);
}

bool clock_master_now(int64_t now_us, clock_estimate *ret)
{
    pthread_mutex_lock(&master_clock.lock);
    bool known = master_clock.known;
    if (known)
        *ret = master_clock.here ? (clock_estimate){.at_us = now_us} : aged(master_clock.is, now_us);
    pthread_mutex_unlock(&master_clock.lock);
    return known;
}
