/*
 * From what was written to what holds: every key checked against the table, every default filled
 * in, keys in the table's order, numbers in one form (an integer for integers, a real for reals),
 * so that equal configurations give equal text.
 *
 * Threads: pure.
 */
#ifndef TEQUIO_COMMON_CONFIG_RESOLVE_H
#define TEQUIO_COMMON_CONFIG_RESOLVE_H

#include "common/base/error.h"

#include <jansson.h>

/* The caller decrefs *ret. E_CONFIG: "path: what is wrong; what would be right". */
MUST_USE status config_resolve(const json_t *written, json_t **ret, error *err);

#endif
