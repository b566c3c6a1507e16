/* What one row of the table cannot say of trainer.optimizer. Threads: pure. */
#ifndef TEQUIO_COMMON_CONFIG_OPTIMIZER_CONSTRAINTS_H
#define TEQUIO_COMMON_CONFIG_OPTIMIZER_CONSTRAINTS_H

#include "common/base/error.h"

#include <jansson.h>

/* The section, with every default filled in. E_CONFIG. */
MUST_USE status optimizer_constraints_check(const json_t *optimizer, error *err);

#endif
