/*
 * A JSON value as YAML, for files that people and other programs read: blocks, keys in the order in
 * which they were added, texts plain where that is safe, several lines as they are.
 * Threads: pure functions.
 * Source: YAML 1.1 (https://yaml.org/spec/1.1), by libyaml.
 */
#ifndef TEQUIO_JOB_YAML_H
#define TEQUIO_JOB_YAML_H

#include "common/base/json.h"

/* Appends the value as one document, with "---" in front where `ret` holds something already. */
void yaml_add(const json_t *value, buf *ret);

#endif
