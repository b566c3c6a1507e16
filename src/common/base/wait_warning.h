/*
 * When a wait that takes long is spoken of: once it is longer than a limit, then at growing
 * intervals, and from the beginning when the next wait begins. Pure functions.
 */
#ifndef TEQUIO_COMMON_BASE_WAIT_WARNING_H
#define TEQUIO_COMMON_BASE_WAIT_WARNING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct wait_warning {
    int64_t next_us; /* not before; 0: has not been spoken of */
} wait_warning;

/* Of peers that show that they live once a second: their silence is no wait before some have failed
 * to come. */
double wait_warning_of_heartbeat(double limit_s);

/* Speak now of a wait that began at `since_us`? If so, *ret_s is how long it took so far. */
bool wait_warning_due(wait_warning *w, int64_t now_us, int64_t since_us, double limit_s, double *ret_s);

#endif
