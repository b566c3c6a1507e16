/*
 * A complete sum of a step that several read: the table that applies it, the transport that sends
 * it and the mirror that may have to send it again. The last of them lets it go. Threads: any may
 * drop it; it is held where it is held already.
 */
#ifndef TEQUIO_PS_SUM_H
#define TEQUIO_PS_SUM_H

#include "common/parts/tree.h"
#include "common/parts/verdict.h"

#include <stdatomic.h>

typedef struct sum {
    fold_block fold; /* what the table holds in the place of `from` */
    fold_block *from;
    atomic_int refs;
    int64_t step;
    uint32_t n_slots;
    uint64_t verdict;               /* on the step before, for who has not heard it; 0: none */
} sum;

/* A verdict as a number that is never 0, and back. */
uint64_t sum_pack_verdict(verdict v);
verdict sum_unpack_verdict(uint64_t packed);

/* The caller holds what is returned, and *root, its other holder, takes the place of what it was.
 */
sum *sum_share(fold_block **root, int64_t step, uint32_t n_slots);
sum *sum_hold(sum *s);
void sum_drop(sum *s); /* NULL is fine */
void sum_sent(void *data, void *hint); /* of a net_buffer whose hint is held */

#endif
