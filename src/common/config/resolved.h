/*
 * A configuration that was loaded before, changed a little, as text: TEQUIO_SET, which it has already, is not laid over
 * it again, and over what was changed.
 *
 * Threads: any.
 */
#ifndef TEQUIO_COMMON_CONFIG_RESOLVED_H
#define TEQUIO_COMMON_CONFIG_RESOLVED_H

#include "common/config/config.h"

/* E_CONFIG as config_load. */
MUST_USE status config_load_resolved(const char *text, config **ret, error *err);

#endif
