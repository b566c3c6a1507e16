/*
 * The built-in architectures: each appends its layers to a net that stands at the input and ends at
 * scores [batch, classes]. To add one, write a file and give it a row in model.c.
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_BUILDERS_H
#define TEQUIO_MODEL_BUILDERS_H

#include "common/config/config.h"
#include "model/layers.h"

/* Linear layers, with an activation between. */
MUST_USE status build_mlp(net *n, const config *model, int64_t classes, error *err);
/* Convolutions that keep the size, each with an activation and 2x2 max pooling; linear layers. */
MUST_USE status build_cnn(net *n, const config *model, int64_t classes, error *err);
/* The layers the configuration lists; the last one must give the scores. */
MUST_USE status build_sequential(net *n, const config *model, int64_t classes, error *err);

/* The linear end that mlp and cnn share: hidden layers, then "fc<k>" to `classes`. */
MUST_USE status build_head(net *n, const config *model, int64_t classes, error *err);

#endif
