/*
 * A complete sum of a step that several read: the table that applies it, the transport that sends
 * it and the mirror that may have to send it again. The last of them lets it go. Threads: any may
 * drop it; it is held where it is held already.
 */
#ifndef TEQUIO_PS_SUM_H
#define TEQUIO_PS_SUM_H

#include "common/parts/tree.h"

#include <stdatomic.h>

typedef struct sum {
    fold_block fold; /* what the table holds in the place of `from` */
    fold_block *from;
    atomic_int refs;
    int64_t step;
    uint32_t n_slots;
} sum;

/* The caller holds what is returned, and *root, its other holder, takes the place of what it was.
 */
sum *sum_share(fold_block **root, int64_t step, uint32_t n_slots);
sum *sum_hold(sum *s);
void sum_drop(sum *s); /* NULL is fine */

#endif
