/*
 * Values of config.json that are written otherwise here: activations by name, and how angles of positions
 * are stretched.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_COMMON_CONFIG_HUGGINGFACE_VALUE_H
#define TEQUIO_COMMON_CONFIG_HUGGINGFACE_VALUE_H

#include <jansson.h>
#include <stdbool.h>

/* config.json of transformers 5 as 4 wrote it: rope_parameters become rope_theta and rope_scaling. In place. */
void huggingface_unfold(json_t *theirs);

/* Their value of what is `key` here, and the way back: a new reference. Here NULL: it is not carried out. */
json_t *huggingface_value_here(const char *key, const json_t *theirs);
json_t *huggingface_value_there(const char *key, const json_t *ours);
/* What values of `key` are carried out, for messages; NULL: not said. */
const char *huggingface_value_expected(const char *key);

/* Alike, numbers by their values. */
bool huggingface_same(const json_t *a, const json_t *b);

#endif
