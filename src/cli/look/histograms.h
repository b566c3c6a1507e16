/*
 * Histograms of weights and gradients over steps, from the event files of a job dir: what a picture of them needs.
 *
 * Threads: functions without shared state.
 */
#ifndef TEQUIO_CLI_LOOK_HISTOGRAMS_H
#define TEQUIO_CLI_LOOK_HISTOGRAMS_H

#include "common/base/error.h"

#include <jansson.h>

enum { HISTOGRAM_BINS = 64, HISTOGRAM_STEPS = 200 };

/* Of the event files in `folder`: {"tags": those that have histograms, sorted, "tag": the one that is told, "low",
 * "high": the least and the largest value there was, "steps": [n], "rows": [n][HISTOGRAM_BINS] how many values lie in
 * each of as many equal pieces from low to high}. n is HISTOGRAM_STEPS at most: then some steps between are left out.
 * `tag`: NULL, or one that is none, is the first one. Without any histogram "tags" is empty, and there is nothing else.
 * *ret: the caller's. */
MUST_USE status histograms_tell(const char *folder, const char *tag, json_t **ret, error *err);

#endif
