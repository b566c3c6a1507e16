/*
 * Profiles of a job (docs/PROFILE.md), for its page.
 *
 * Threads: functions without shared state.
 */
#ifndef TEQUIO_CLI_LOOK_PROFILES_H
#define TEQUIO_CLI_LOOK_PROFILES_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <jansson.h>

/* The names of those in a job dir, in natural order; empty where there are none. */
MUST_USE status profiles_list(const char *job_dir, json_t **ret, error *err);
/* Appends one. E_DATA: there is none of that name, or it is too large for a browser. */
MUST_USE status profiles_read(const char *job_dir, const char *name, buf *ret, error *err);

#endif
