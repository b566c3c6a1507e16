/*
 * `tequio bench nodes CONFIG`: what each kernel of a step takes on a device: the user's model and data,
 * kernels run one by one and timed each, by the device's clock or on the CPU the host's.
 */
#ifndef TEQUIO_CLI_BENCH_NODES_H
#define TEQUIO_CLI_BENCH_NODES_H

#include "cli/line/command.h"

/* Prints the report on standard output. Main thread only. */
MUST_USE status bench_nodes_run(const args *a, error *err);

#endif
