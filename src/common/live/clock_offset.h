/*
 * How far another task's monotonic clock is ahead of ours, by round trips: what it read lies between our
 * sending and our receiving, so it is known to half of the trip at worst, however unequal the ways are
 * (Cristian 1989; NTP, RFC 5905, keeps the best of some trips likewise). A bound ages, as clocks drift: by
 * CLOCK_DRIFT of the time since, which is more than two quartz clocks of a computer differ by. Microseconds.
 *
 * And what this process knows of its master's clock, which puts moments of all tasks in one order.
 *
 * Threads: a clock_offset belongs to its owner; the process's value is any thread's.
 */
#ifndef TEQUIO_COMMON_LIVE_CLOCK_OFFSET_H
#define TEQUIO_COMMON_LIVE_CLOCK_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

enum { CLOCK_TRIPS = 16, CLOCK_DRIFT = 5000 };      /* one in 5000: 200 ppm */

/* Theirs is ours + offset, give or take the error. */
typedef struct clock_estimate {
    int64_t offset_us, error_us;
    int64_t at_us;                  /* when that was so, by our clock */
} clock_estimate;

typedef struct clock_offset {
    clock_estimate trips[CLOCK_TRIPS];
    uint32_t n;                     /* so far */
} clock_offset;

/* Of one trip. What no clocks can say, a peer's nonsense, is left out. */
void clock_offset_add(clock_offset *c, int64_t sent_us, int64_t theirs_us, int64_t received_us);
/* The best of the last trips, as it is now. false: there was none yet. */
bool clock_offset_now(const clock_offset *c, int64_t now_us, clock_estimate *ret);

/* Of this process. A master's own is exact, and stays. An error of 0: nothing is known (any more). */
void clock_master_is_here(void);
void clock_master_learn(const clock_estimate *e);
/* Also in a signal handler. */
bool clock_master_now(int64_t now_us, clock_estimate *ret);

#endif
