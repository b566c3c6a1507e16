/*
 * `tequio bench data`: how many examples a second the configured reader gives, decoded, augmented and put into batches,
 * with no model behind it: by 1, 2, 4 and so on threads, as many as there are processors at most. Beside it how many
 * the model takes that nothing makes wait: one lane on the first GPU, or on the CPU.
 */
#ifndef TEQUIO_CLI_BENCH_DATA_H
#define TEQUIO_CLI_BENCH_DATA_H

#include "cli/line/command.h"

/* Prints the report on standard output. Main thread only. */
MUST_USE status bench_data_run(const args *a, error *err);

#endif
