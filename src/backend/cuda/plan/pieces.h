/*
 * Into how many pieces a long sum is cut, so that enough blocks of threads work on it. The number
 * decides the order of the sum, and so its bits: it follows from the shape alone, never from the
 * GPU. Pure functions.
 */
#ifndef TEQUIO_BACKEND_CUDA_PLAN_PIECES_H
#define TEQUIO_BACKEND_CUDA_PLAN_PIECES_H

#include <stdint.h>

enum {
    PIECES_MOST = 128,
    PIECES_BLOCKS = 1024,   /* busy enough, whichever GPU it is */
    PIECES_FEWEST = 4096,   /* numbers that are worth a block of a piece */
    PIECES_COLUMNS = 128,   /* neighbours that a block sums side by side */
};

/* Of `blocks` blocks, each of which sums that many `numbers`. */
static inline int pieces_of(int64_t blocks, int64_t numbers)
{
    int64_t wanted = (PIECES_BLOCKS + blocks - 1) / blocks, worth = numbers / PIECES_FEWEST;
    int64_t pieces = wanted < worth ? wanted : worth;
    return pieces < 1 ? 1 : pieces > PIECES_MOST ? PIECES_MOST : (int)pieces;
}

/* Of `rows` rows that are added up column by column, of `n` neighbours, in each of `kept`
 * places. */
static inline int pieces_of_columns(int64_t kept, int64_t rows, int64_t n)
{
    int64_t width = n < PIECES_COLUMNS ? n : PIECES_COLUMNS;
    return pieces_of(kept * ((n + width - 1) / width), rows * width);
}

#endif
