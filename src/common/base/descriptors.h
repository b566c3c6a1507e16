/*
 * Open files of this process, connections among them: how many it may have, and what an error says
 * that came of having no more. Any thread.
 */
#ifndef TEQUIO_COMMON_BASE_DESCRIPTORS_H
#define TEQUIO_COMMON_BASE_DESCRIPTORS_H

#include "common/base/error.h"

#include <stdint.h>

/* Raises the limit as far as a process may by itself. */
void descriptors_take(void);

/* E_IO if the process may not have `least`, without which nothing goes. `about` is what it needs as a
 * rule, which descriptor_limit_explain says from now on. */
MUST_USE status descriptors_check(int64_t least, int64_t about, error *err);

#endif
