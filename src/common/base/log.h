/*
 * Logging: one line a message on standard error and, when a file is given, there too:
 *
 *     12:00:01.123 worker.3 info STEP loss=2.31 step=40 examples_per_s=812
 *
 * `id` is a stable upper-case word for machines to look for. Libraries log at debug only; roles log
 * once, at the edge that handles a thing. Any thread; a line is written whole, control characters
 * in it as spaces, and cut when it is longer than any error.
 */
#ifndef TEQUIO_COMMON_BASE_LOG_H
#define TEQUIO_COMMON_BASE_LOG_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } log_level;

/* `level` also comes from TEQUIO_LOG_LEVEL (error, warn, info, debug); the default is info. */
void log_set_level(log_level level);
const char *log_level_name(log_level level);
MUST_USE status log_open_file(const char *path, error *err);
void log_close_file(void);

/* The name in front of this thread's lines ("worker.3"); kept by reference, "tequio" until set. */
void log_set_task(const char *task);
const char *log_task(void);

bool log_is_on(log_level level);
void log_line(log_level level, const char *id, const char *format, ...) PRINTF_LIKE(3, 4);

/* Of lines that a stranger can cause, one a second and cause is enough. All zero to begin with, but for the period. */
typedef struct log_pace {
    int64_t next_us, period_us;     /* of 0: a second */
    unsigned skipped;
} log_pace;

/* May the line be said now? *ret_skipped: how many of its kind were not since the last one. */
bool log_pace_allows(log_pace *p, int64_t now_us, unsigned *ret_skipped);

#define LOG_E(id, ...) log_line(LOG_ERROR, (id), __VA_ARGS__)
#define LOG_W(id, ...) log_line(LOG_WARN, (id), __VA_ARGS__)
#define LOG_I(id, ...) log_line(LOG_INFO, (id), __VA_ARGS__)
#define LOG_D(id, ...)                                                                             \
    do {                                                                                           \
        if (log_is_on(LOG_DEBUG))                                                                  \
            log_line(LOG_DEBUG, (id), __VA_ARGS__);                                                \
    } while (0)

#endif
