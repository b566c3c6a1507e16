/*
 * How long things take (durations.def): histograms of the process, all of the same bounds, four times the one before.
 * To note one costs two additions; nothing is concluded from them.
 *
 * Threads: any.
 */
#ifndef TEQUIO_COMMON_LIVE_DURATIONS_H
#define TEQUIO_COMMON_LIVE_DURATIONS_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum duration {
#define DURATION(id, of, name, help) DURATION_##id,
#include "common/live/durations.def"
#undef DURATION
    DURATION_COUNT
} duration;

enum { DURATION_BOUNDS = 10 };      /* and a piece for all that is longer */

typedef struct duration_row {
    int of;
    const char *name, *help;
} duration_row;

extern const duration_row duration_rows[DURATION_COUNT];
extern const int64_t duration_bounds_us[DURATION_BOUNDS];

void duration_note(duration d, int64_t took_us);

/* As it is at about one moment: counts by piece, not added up, and the sum. */
typedef struct duration_state {
    int64_t counts[DURATION_BOUNDS + 1];
    int64_t sum_us;
} duration_state;

void duration_look(duration d, duration_state *ret);

#endif
