/*
 * Whose time it is in which a lane stands still, between two slots and within one, for want of weights: other lanes',
 * the servers' or the wire's.
 *
 * A lane that has computed a slot first waits for its gradients to be taken, then part by part for the next weights.
 * All that is one wait, and the part that ends it knows why it took so long since it was asked for (kv_times): of the
 * lane's wait, what happened last counts first, which is the way, then the servers' work, then the other lanes. What a
 * lane waits before the part is asked for it waits for other lanes of its worker, which still read the version before.
 * Where the part was there before the gradients were taken, the rest is the servers' and the wire's, as they had of the
 * gradient that was taken last.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_WORKER_STALL_H
#define TEQUIO_WORKER_STALL_H

#include "kv/kv.h"

typedef struct stall {
    int64_t lanes_us, servers_us, wire_us;
} stall;

/* The lane had waited `before_us` for its gradients to be taken, until `taken_us`, and from then to then for a part;
 * between the two it did something else. */
typedef struct stall_wait {
    int64_t before_us, taken_us, from_us, to_us;
} stall_wait;

void stall_add(stall *s, const stall_wait *w, const kv_times *t, const kv_taking *last);

#endif
