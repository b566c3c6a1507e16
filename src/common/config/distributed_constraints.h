/* What one row of the table cannot say of `distributed`. Threads: pure. */
#ifndef TEQUIO_COMMON_CONFIG_DISTRIBUTED_CONSTRAINTS_H
#define TEQUIO_COMMON_CONFIG_DISTRIBUTED_CONSTRAINTS_H

#include "common/base/error.h"

#include <jansson.h>

/* The section, with every default filled in. E_CONFIG. */
MUST_USE status distributed_constraints_check(const json_t *distributed, error *err);

#endif
