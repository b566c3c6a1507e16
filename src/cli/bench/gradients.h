/*
 * `tequio bench gradients CONFIG`: whether a device computes what another does: the gradients of one batch
 * of the user's model and data, from the weights it begins with, on the device twice, which must give the
 * same bits, and elsewhere, which must be near. Each in a process of its own.
 */
#ifndef TEQUIO_CLI_BENCH_GRADIENTS_H
#define TEQUIO_CLI_BENCH_GRADIENTS_H

#include "cli/line/command.h"

/* Prints the report on standard output. E_FAIL where bits or gradients differ. Main thread only. */
MUST_USE status bench_gradients_run(const args *a, error *err);

#endif
