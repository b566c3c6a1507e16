/*
 * Lists of names of parameters, in which * stands for anything and ? for one character.
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_NAME_GLOBS_H
#define TEQUIO_MODEL_NAME_GLOBS_H

#include "common/base/json.h"

#include <stdbool.h>

/* Is it one of them? NULL names nothing. */
bool name_globs_any(const json_t *globs, const char *name);

#endif
