/* iperf3 on loopback: what the kernel's TCP carries between two processes of this machine, the
 * yardstick of `bench net`. Threads: the main one. */
#ifndef TEQUIO_CLI_BENCH_IPERF_H
#define TEQUIO_CLI_BENCH_IPERF_H

#include "common/base/error.h"

#include <stdbool.h>

/* Is there one to be run? */
bool bench_iperf_is_here(void);

/* One stream for so many seconds, or one in each direction, their sum. */
MUST_USE status bench_iperf_measure(bool both_ways, int seconds, double *ret_gbit_per_s,
                                    error *err);

#endif
