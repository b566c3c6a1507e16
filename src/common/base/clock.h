/* Time. Monotonic for durations and deadlines, wall for people and event files. Any thread. */
#ifndef TEQUIO_COMMON_BASE_CLOCK_H
#define TEQUIO_COMMON_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_us(void);    /* monotonic microseconds */
int64_t clock_ns(void);    /* ... nanoseconds */
double clock_wall_s(void); /* seconds since 1970, with fraction */

#endif
