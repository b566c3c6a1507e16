#include "ps/throttle.h"

#include <stdbool.h>

enum { TIMES = 7 };

void throttle_moved(throttle *r, int64_t version, int64_t now_us)
{
    if (version > r->version) {
        if (r->begun_us)
            atomic_store(&r->step_us, now_us - r->begun_us);
        r->version = version;
        r->begun_us = now_us;
    }
    atomic_store(&r->moved_us, now_us);
}

void throttle_forget(throttle *r)
{
    r->version = r->begun_us = 0;
    atomic_store(&r->step_us, 0);
}

int64_t throttle_pause_us(const throttle *r, int64_t worked_us, int64_t now_us)
{
    bool goes_on = now_us - atomic_load(&r->moved_us) < 2 * atomic_load(&r->step_us);
    return goes_on ? TIMES * worked_us : 0;
}
