/*
 * The order of an epoch: a keyed permutation of 0 .. n-1 with O(1) memory and random access
 * (a 4-round Feistel network on ceil(log2 n) bits with cycle walking; Black and Rogaway 2002).
 * Pure.
 */
#ifndef TEQUIO_COMMON_PARTS_PERMUTE_H
#define TEQUIO_COMMON_PARTS_PERMUTE_H

#include <stdint.h>

/* What stands at `place`, 0 .. n-1. */
int64_t permute_place(uint64_t seed, int64_t epoch, int64_t n, int64_t place);

#endif
