/*
 * `tequio bench step`: how long one training step of the engine takes on one lane: forward,
 * backward and the optimizer's update of all parts, on random data, without any role around it.
 *
 * With --peer it alternates with another program that measures the same and prints JSON with
 * "step_ms" and "examples_per_s" in its last line: absolute times drift with the machine, ratios
 * hold.
 */
#ifndef TEQUIO_CLI_BENCH_STEP_H
#define TEQUIO_CLI_BENCH_STEP_H

#include "cli/line/command.h"

/* Prints the report on standard output. Main thread only. */
MUST_USE status bench_step_run(const args *a, error *err);

#endif
