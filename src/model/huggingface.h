/*
 * A trained network as transformers has it: its config.json, and what its tensors are called there.
 * Pure functions.
 */
#ifndef TEQUIO_MODEL_HUGGINGFACE_H
#define TEQUIO_MODEL_HUGGINGFACE_H

#include "common/base/alloc.h"
#include "common/config/config.h"
#include "common/store/weights.h"

/* config.json of a section `model` with these weights; the caller decrefs it. `labels`: the words of the classes, or
 * NULL, and then they are numbered. E_UNSUPPORTED: transformers has no network of that type. */
MUST_USE status huggingface_model(const config *model, const weights *w, const json_t *labels, json_t **ret,
                                  error *err);

/* The name of a tensor there, in `a`. */
const char *huggingface_tensor(const config *model, const char *name, arena *a);

#endif
