/*
 * From indices to row numbers, as graph/index_positions.h says which they are.
 *
 * Threads: uses the lane's team.
 */
#ifndef TEQUIO_BACKEND_CPU_POSITIONS_H
#define TEQUIO_BACKEND_CPU_POSITIONS_H

#include "common/base/error.h"
#include "graph/index_positions.h"

/* The row of each position. E_DATA names the first index that points nowhere. */
MUST_USE status positions_find(const index_positions *p, const void *indices, int64_t *ret,
                               error *err);

#endif
