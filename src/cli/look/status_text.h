/*
 * A job as people look at it: how far it is, what it waits for, and its tasks. Pure functions.
 */
#ifndef TEQUIO_CLI_LOOK_STATUS_TEXT_H
#define TEQUIO_CLI_LOOK_STATUS_TEXT_H

#include "common/base/buf.h"

#include <jansson.h>

/* `job`: what inspect_look_job finds, "warnings", a list of lines, and "timeline", events; `live`: what the master told
 * last (common/store/live_file.h), NULL: nothing; `now`: seconds since 1970. */
void status_text(const json_t *job, const json_t *live, double now, buf *ret);

#endif
