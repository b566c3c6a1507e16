/*
 * `tequio bench devices CONFIG`: which device trains the user's own model on the user's own data
 * how fast: the CPU with all its threads in one lane, and every GPU, each in a process of its own,
 * so that a device that fails is a row of the table.
 */
#ifndef TEQUIO_CLI_BENCH_DEVICES_H
#define TEQUIO_CLI_BENCH_DEVICES_H

#include "cli/line/command.h"

/* Prints the report on standard output. E_FAIL if no device could be measured. Main thread only. */
MUST_USE status bench_devices_run(const args *a, error *err);

#endif
