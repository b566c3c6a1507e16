/*
 * Where segments begin in the picks of rows that many positions name (backend/pick_order.h). A row holds its latest
 * segment; those before it are put aside, numbered as they end, in the order of the picks.
 *
 * Threads: pure functions; the memory is the caller's.
 */
#ifndef TEQUIO_BACKEND_CPU_PICK_SEGMENTS_H
#define TEQUIO_BACKEND_CPU_PICK_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

/* A row with several segments: those put aside are aside[first], ... */
typedef struct hot_row {
    int64_t row, first, n_aside;
} hot_row;

typedef struct pick_segments {
    const hot_row *hot;
    int64_t n_hot;
    const uint32_t *aside; /* numbers of segments, row by row, in their order */
} pick_segments;

/* What n picks of `size` rows need, in the workspace, aligned as int64_t is. */
size_t pick_segments_bytes(int64_t size, int64_t n);

/* Of picks i, each of row at[i]: where a segment begins that is not the row's first, at[i] becomes ~at[i]. */
pick_segments pick_segments_find(int64_t *at, int64_t n, int64_t size, void *workspace);

#endif
