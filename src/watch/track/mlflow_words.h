/*
 * What MLflow takes: names of at most 250 bytes, of letters, digits and _-./: and blanks, which are no paths out of
 * their place; values of parameters of at most 500 bytes (newer servers take 6000), of tags of 5000.
 *
 * Threads: pure.
 */
#ifndef TEQUIO_WATCH_TRACK_MLFLOW_WORDS_H
#define TEQUIO_WATCH_TRACK_MLFLOW_WORDS_H

#include <jansson.h>
#include <stddef.h>

enum { MLFLOW_NAME = 251, MLFLOW_PARAMETER_MOST = 500, MLFLOW_TAG_MOST = 5000 };

/* What it does not take becomes _. Returns ret. */
const char *mlflow_name(const char *prefix, const char *name, char ret[MLFLOW_NAME]);

/* At most `most` bytes of a text, whole characters, "..." at the end of one that was cut. The caller's. */
char *mlflow_value(const char *text, size_t most);

/* A configuration as a list of {"key", "value"}: sections by dotted names, lists of sections by numbers, other lists as
 * JSON. What is null and the section `but` are left out. The caller's. */
json_t *mlflow_parameters(const json_t *config, const char *but);

#endif
