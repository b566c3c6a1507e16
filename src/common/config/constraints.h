/*
 * What one row of the table cannot say: values that this version cannot carry out, values that do
 * not go together, and defaults that follow from other keys.
 *
 * Threads: pure.
 */
#ifndef TEQUIO_COMMON_CONFIG_CONSTRAINTS_H
#define TEQUIO_COMMON_CONFIG_CONSTRAINTS_H

#include "common/base/error.h"

#include <jansson.h>

/* `tree`: every key checked by its row, every default of a row filled in. E_CONFIG. */
MUST_USE status constraints_check(const json_t *tree, error *err);

void constraints_derive(json_t *tree);

#endif
