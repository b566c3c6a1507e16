/*
 * Which server holds which part. Whole parts are dealt by bytes, the largest first, each to the
 * server that holds least (the lowest number of several): the largest server holds at most the mean
 * plus one part. Live parts are dealt before frozen ones, so the traffic of every step is balanced
 * by itself. A pure function of (flat, number of servers). Any thread.
 */
#ifndef TEQUIO_COMMON_PARTS_PLACEMENT_H
#define TEQUIO_COMMON_PARTS_PLACEMENT_H

#include "common/parts/flat.h"

/* ret_server[n_parts] is filled with 0 .. n_servers-1. n_servers >= 1. A server is left without
 * parts only when there are fewer parts than servers. */
void placement_deal(const flat *f, int32_t n_servers, int32_t *ret_server);

#endif
