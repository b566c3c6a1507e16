/*
 * In which order what is picked for a row is combined, on every backend. A row's picks are cut, in the order of
 * their positions, into segments of PICK_SEGMENT. Its first segment is combined with what the row holds, each
 * further one with its own first pick, one pick after another. Then the segments are the leaves of a binary tree:
 * neighbours are combined, left and right, level by level, and one without a neighbour goes up as it is
 * (common/parts/tree.h).
 *
 * So a row with few picks is combined in their order, and one with many by as many threads as there are, with the
 * same bits. Of 64 picks the sum is a 64th of what is read, which costs nothing beside it; and the 12,288 picks which
 * 32 texts of 384 tokens have of one row are 192 segments, of 768 columns 576 blocks of a GPU: an H200 has 132
 * multiprocessors.
 *
 * Pure functions.
 */
#ifndef TEQUIO_BACKEND_PICK_ORDER_H
#define TEQUIO_BACKEND_PICK_ORDER_H

#include <stdint.h>

enum { PICK_SEGMENT = 64 };

/* How many segments beyond their rows' first n picks have at most. */
static inline int64_t pick_segments_most(int64_t n)
{
    return n > 0 ? (n - 1) / PICK_SEGMENT : 0;
}

#endif
