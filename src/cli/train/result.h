/* What a finished job leaves, told on standard output: metrics, files, what to try next.
 * Threads: the main one. */
#ifndef TEQUIO_CLI_TRAIN_RESULT_H
#define TEQUIO_CLI_TRAIN_RESULT_H

#include "common/base/error.h"

/* Reads JOB_DIR/summary.json. */
MUST_USE status result_print(const char *job_dir, error *err);

#endif
