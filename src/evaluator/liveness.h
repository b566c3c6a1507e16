/*
 * The signs by which one who knows only the job dir learns how the job fares: whether it is done,
 * how its last start ended, and whether its master lives.
 *
 * An end that was written before we began to look may be that of a start that others follow: it
 * counts only when no master shows up, for start_timeout if it is an old one. One of a few seconds
 * ago is rather that of our own start, which failed before we were there: then for a few seconds.
 *
 * Threads: the evaluator's only one.
 */
#ifndef TEQUIO_EVALUATOR_LIVENESS_H
#define TEQUIO_EVALUATOR_LIVENESS_H

#include "common/store/jobdir.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct liveness {
    const jobdir *dir;
    uint64_t old_end; /* trace of an end that was there before us; 0: none */
    int64_t doubt_us; /* how long that end does not count */
    uint64_t pulse;   /* the master's, as last seen */
    int64_t alive_us; /* when it last changed; when we began, if it never did */
    int64_t looked_us; /* when we last looked */
    bool has_lived;   /* it changed, or a start says that it runs */
    uint64_t old_summary; /* trace of one that a master with our configuration will remove; 0 */
} liveness;

/* `c` is our configuration: where it moves the end of the job that is done, the job goes on. */
liveness liveness_begin(const jobdir *d, const config *c, double start_timeout_s);

/* summary.json is there: nothing will be trained any more. */
bool liveness_done(const liveness *s);

/* OK while the job goes on or is done; otherwise what its last start ended with, and why. */
MUST_USE status liveness_check(liveness *s, error *err);

#endif
