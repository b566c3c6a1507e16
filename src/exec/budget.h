/*
 * Budgets: whether this host has the memory for what is about to be taken of it, asked before any of
 * it is. A plan knows what a batch takes, and that nearly grows with the batch, so it can also be said
 * which batch would fit.
 *
 * Threads: any.
 */
#ifndef TEQUIO_EXEC_BUDGET_H
#define TEQUIO_EXEC_BUDGET_H

#include "common/base/host_memory.h"

#include <stdint.h>

/* What batches of so many examples take in all, in bytes; more for more. */
typedef status budget_fn(void *user, int64_t batch, size_t *ret_bytes, error *err);

typedef struct budget {
    const char *what;   /* is to be done: "training" */
    const char *key;    /* where the batch is set: "data_loader.batch_size" */
    int64_t batch;      /* that is asked for; >= 1 */
    budget_fn *need;
    void *user;
} budget;

/* What this host has left, without a part that stays for what nobody counts. E_CONFIG as
 * host_memory_left. */
MUST_USE status budget_left(host_memory *ret, error *err);

/* E_NOMEM says how much is needed, how much is left, and the largest batch that fits. */
MUST_USE status budget_check(const budget *b, error *err);

/* The largest batch below b->batch that fits into so much, to a 64th; 0: not even one example does,
 * or it cannot be told. b->batch itself needs `need`, which is more. */
int64_t budget_largest(const budget *b, size_t need, size_t left);

#endif
