/*
 * Keys of the configuration among the flags of a command line, --KEY VALUE, as settings of config_load. Any thread.
 */
#ifndef TEQUIO_CLI_RUN_SETTINGS_H
#define TEQUIO_CLI_RUN_SETTINGS_H

#include "cli/line/command.h"
#include "common/base/alloc.h"

/* "KEY=VALUE" of each, then those of `more`, which may be NULL; NULL at the end. In the arena. */
const char *const *settings_of(const args *a, const char *const *more, arena *memory);

#endif
