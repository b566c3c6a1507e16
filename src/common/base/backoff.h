/*
 * Patience: when to say again what was not answered, later each time. Times are handed in.
 * Threads: belongs to its owner's.
 */
#ifndef TEQUIO_COMMON_BASE_BACKOFF_H
#define TEQUIO_COMMON_BASE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

typedef struct backoff {
    int64_t wait_us, until_us;
} backoff;

void backoff_begin(backoff *p, int64_t now_us);

/* True: say it again now; the next wait has begun, twice as long, up to a limit. */
bool backoff_expired(backoff *p, int64_t now_us);

#endif
