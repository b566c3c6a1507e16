/*
 * How the configuration wants parameters drawn, by patterns of their names: the section model.initializer, which is
 * AllenNLP's. What no pattern names begins as its layer does; tensors of pretrained files keep the files' values.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_MODEL_INITIALIZERS_H
#define TEQUIO_MODEL_INITIALIZERS_H

#include "common/config/config.h"
#include "common/parts/flat.h"

typedef struct initializers initializers;

/* *ret is NULL where the section `model` has no initializer. E_CONFIG: a pattern is no expression. */
MUST_USE status initializers_create(const config *model, initializers **ret, error *err);
void initializers_destroy(initializers **p);

/* Changes the rule of a trainable parameter that a pattern names; the first that does counts. E_CONFIG: the parameter
 * has too few axes for it. */
MUST_USE status initializers_apply(const initializers *p, tensor_decl *decl, error *err);

/* The patterns of the section `model`, a list of strings; the caller decrefs it. */
json_t *initializers_patterns(const config *model);

#endif
