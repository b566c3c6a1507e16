/*
 * A device's sums: gradients of several slots, a SLAB_GRAD for each node that waits.
 *
 * Threads: the exec's.
 */
#ifndef TEQUIO_EXEC_SUMS_H
#define TEQUIO_EXEC_SUMS_H

#include "exec/exec.h"

typedef struct device_sums {
    void *at[32];           /* by the node's level */
    uint8_t n;
    bool no_more;           /* there was no memory */
} device_sums;

/* As exec_keep_sums. */
uint8_t sums_reserve(exec *e, uint8_t level);
void sums_destroy(exec *e);
bool sums_complete(const exec_slot *s);
/* Adds what is kept for a part to its gradient, and keeps the result if the sum is not complete. */
MUST_USE status sums_add(const exec *e, const exec_slot *s, int32_t part, error *err);

#endif
