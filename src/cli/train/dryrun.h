/* `train --dry-run`: what a run would take, without starting it. Threads: the main one. */
#ifndef TEQUIO_CLI_TRAIN_DRYRUN_H
#define TEQUIO_CLI_TRAIN_DRYRUN_H

#include "cli/run/devices.h"
#include "cli/run/shape.h"

#include <stdbool.h>

/* Opens the training data, builds the model, plans its memory and prints what comes out on standard
 * output, for people or as JSON. */
MUST_USE status dryrun_print(const devices *d, const shape *s, bool as_json, error *err);

#endif
