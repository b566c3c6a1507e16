/*
 * Which server holds which part. Whole parts are dealt by bytes: the largest server holds at most
 * 1.05 times the mean plus one part. A pure function of (flat, number of servers). Any thread.
 */
#ifndef TEQUIO_COMMON_PARTS_PLACEMENT_H
#define TEQUIO_COMMON_PARTS_PLACEMENT_H

#include "common/parts/flat.h"

/* ret_server[n_parts] is filled with 0 .. n_servers-1. n_servers >= 1. */
void placement_deal(const flat *f, int32_t n_servers, int32_t *ret_server);

#endif
