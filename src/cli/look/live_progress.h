/*
 * How far a job is, as its master tells it in live.json, for job/progress.h.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_CLI_LOOK_LIVE_PROGRESS_H
#define TEQUIO_CLI_LOOK_LIVE_PROGRESS_H

#include "job/progress.h"

#include <jansson.h>

/* False: it does not say. Of a job that does not run no time is left. */
bool live_progress(const json_t *live, bool runs, progress_state *ret);

#endif
