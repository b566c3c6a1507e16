/*
 * What is laid over the file: settings ("trainer.num_epochs=3") and overrides (a jsonnet object,
 * keys nested or dotted). An object is merged key by key, anything else replaces what was there.
 * Items of a list are named "layers[2]" or, as AllenNLP does, "layers.2".
 *
 * Threads: a tree belongs to one thread at a time.
 */
#ifndef TEQUIO_COMMON_CONFIG_MERGE_H
#define TEQUIO_COMMON_CONFIG_MERGE_H

#include "common/base/error.h"

#include <jansson.h>

/* `text` is "dotted.key=value"; a value that is not JSON is taken as a string. `origin` names where
 * it came from. E_CONFIG. */
MUST_USE status merge_setting(json_t *tree, const char *origin, const char *text, error *err);

/* E_CONFIG, also when a key is in no row of the table of options, nor of AllenNLP's keys. */
MUST_USE status merge_overrides(json_t *tree, const json_t *overrides, error *err);

#endif
