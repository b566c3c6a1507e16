/*
 * `tequio bench net`: how fast parts move between workers and parameter servers on this machine.
 *
 * The servers are the product's own (ps_run), the workers use its client (kv); both are processes
 * on loopback TCP. Rounds alternate with iperf3, so that ratios hold on a machine whose speed
 * drifts.
 */
#ifndef TEQUIO_CLI_BENCH_NET_H
#define TEQUIO_CLI_BENCH_NET_H

#include "cli/line/command.h"

/* Prints the report on standard output. Main thread only. */
MUST_USE status bench_net_run(const args *a, error *err);

#endif
