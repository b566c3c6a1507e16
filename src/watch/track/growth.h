/*
 * Lines of a file that grows, JSON objects with a "step" each. Such a file may be cut back and written anew from an
 * earlier step on, as a job goes back to a checkpoint: where one was left is believed only if the line before is still
 * that of the step that was read last; else it is read from its beginning.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_WATCH_TRACK_GROWTH_H
#define TEQUIO_WATCH_TRACK_GROWTH_H

#include "common/base/buf.h"

#include <jansson.h>
#include <stdint.h>

enum { GROWTH_BLOCK = 256 << 10, GROWTH_LINE_MOST = 256 << 20 };

typedef struct growth_place {
    int64_t begin, offset;  /* of the last line that was read, and behind it */
    int64_t step;           /* its step; -1: none was read */
} growth_place;

#define GROWTH_BEGINNING ((growth_place){.step = -1})

typedef struct growth {
    int fd;                 /* -1: the file is not there */
    const char *path;
    buf text;               /* of the file, from byte `at` on, as far as it was read */
    int64_t at;
    size_t used;            /* of it */
    growth_place place;     /* of the last line that growth_next gave */
} growth;

/* To read on from there; `path` is kept by reference. A file that is not there has no lines. E_IO, E_DISK. */
MUST_USE status growth_open(const char *path, growth_place from, growth *ret, error *err);
/* *ret: the next line, the caller's; NULL: there is none so far. What is no JSON object is passed over. E_DATA: a
 * line of more than GROWTH_LINE_MOST bytes; E_IO, E_DISK. */
MUST_USE status growth_next(growth *g, json_t **ret, error *err);
void growth_close(growth *g);

/* The last whole line, the caller's; NULL: there is none, or it cannot be read. */
json_t *growth_last(const char *path);

#endif
