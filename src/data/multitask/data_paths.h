/*
 * Paths of data by the names of their readers, as AllenNLP's readers over others take them: where such a reader's path
 * is expected, the text of a JSON object may stand, {"news": "news.jsonl", "reviews": "reviews.jsonl"}.
 * Threads: pure.
 */
#ifndef TEQUIO_DATA_MULTITASK_DATA_PATHS_H
#define TEQUIO_DATA_MULTITASK_DATA_PATHS_H

#include "common/base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* The text is such an object rather than a path. */
bool data_paths_are_named(const char *text);

/* The caller decrefs *ret, whose values are strings. E_CONFIG. */
MUST_USE status data_paths_parse(const char *text, json_t **ret, error *err);

#endif
