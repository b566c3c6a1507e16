/*
 * The preallocator: makes the blocks a table will lack once a cut holds its own ahead of time, in a
 * thread that gives way to all others, so that no update waits for fresh memory. They stay: the next
 * cut needs as many.
 *
 * Threads: belongs to the server's thread; the one that makes them shares the list, under a
 * lock.
 */
#ifndef TEQUIO_PS_PREALLOCATOR_H
#define TEQUIO_PS_PREALLOCATOR_H

#include "common/net/net.h"
#include "ps/table.h"

/* So many versions before the cut they are made. */
enum { PREALLOCATE_AHEAD = 8 };

typedef struct preallocator preallocator;

preallocator *preallocator_create(net_waker *waker); /* woken when they are made */
void preallocator_destroy(preallocator **s);

/* Begins to make what `t` lacks, once. Where there is no memory or no thread for it, updates take
 * what they need themselves. */
void preallocator_order(preallocator *s, const table *t, int32_t n_parts);

/* Hands over what is made. */
void preallocator_take(preallocator *s, table *t);

#endif
