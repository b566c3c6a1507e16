/*
 * Positions by rotation (Su et al., 2104.09864): the angles by which queries and keys are turned, as
 * `model.rope_theta` and `model.rope_scaling` say.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_ROPE_H
#define TEQUIO_MODEL_ROPE_H

#include "common/config/config.h"
#include "model/tokens.h"

enum { ROPE_THETA = 10000 }; /* where a section says none */

/* Of positions 0 to tokens - 1 of every example of the batch, for heads of so many numbers. */
MUST_USE status rope_angles(net *n, const config *model, int64_t head, int64_t tokens, rotation *ret, error *err);

#endif
