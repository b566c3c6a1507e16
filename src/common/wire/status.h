/*
 * STATUS: what every task says of itself in it, whatever its role: its figures (common/live/counters.def) and its
 * waits.
 *
 * Threads: pure functions, but that counters are read.
 */
#ifndef TEQUIO_COMMON_WIRE_STATUS_H
#define TEQUIO_COMMON_WIRE_STATUS_H

#include "common/base/wait_list.h"
#include "common/wire/wire.h"

/* How often it is said. */
enum { WIRE_STATUS_US = 2 * 1000000 };

/* Figures of the role and of the process. The message borrows from `waits`; release with wire_status_clear. */
void wire_status_fill(role of, const wait_list *waits, Wire__Status *ret);
void wire_status_clear(Wire__Status *m);

#endif
