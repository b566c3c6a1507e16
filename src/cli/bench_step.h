/* `tequio bench step`: examples per second of one training step on one core. */
#ifndef TEQUIO_CLI_BENCH_STEP_H
#define TEQUIO_CLI_BENCH_STEP_H

#include "cli/command.h"

/* Prints the report on standard output. Main thread only. */
MUST_USE status bench_step_run(const args *a, error *err);

#endif
