/*
 * Hugging Face's folders: config.json as options of the section `model`, by the table
 * huggingface.def.
 *
 * `model.transformer_model_name` is a folder with a config.json, from here or beside the
 * configuration, or a name that Hugging Face's cache has: models--ORG--NAME/snapshots/REVISION below
 * HF_HUB_CACHE, HF_HOME/hub or ~/.cache/huggingface/hub, the revision that refs/main names.
 *
 * Threads: main thread only.
 */
#ifndef TEQUIO_COMMON_CONFIG_HUGGINGFACE_H
#define TEQUIO_COMMON_CONFIG_HUGGINGFACE_H

#include "common/base/alloc.h"
#include "common/base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* A config.json says such a key of `model`. */
bool huggingface_sets(const char *key);

/* Lays what config.json says below `model` of a configuration as it was written, with the folder as
 * `pretrained.path`; does nothing where no name is given. `file` is the configuration's, or NULL.
 * What both say must agree, but for shares of dropout, where the configuration has its way. A folder
 * that is not there is no matter where the section says all of it, as a resolved one does. E_CONFIG
 * names the key, and what config.json asks for that is not known or not supported.
 * A reader's transformer_model_name or tokenizer that is no path becomes the folder of that name, if there is one. */
MUST_USE status huggingface_settings(json_t *written, const char *file, error *err);

/* The folder of a name, in `a`. E_CONFIG says where it was looked for. */
MUST_USE status huggingface_find(const char *name, const char *file, arena *a, const char **ret,
                                 error *err);

/* config.json for the settings of a resolved section `model`, by the same table, with `network` as
 * its model_type. The caller decrefs it. */
json_t *huggingface_config(const json_t *model, const char *network);

#endif
