/*
 * The shares of an evaluation from 1 on, each counted in a process of its own, which dies with this one.
 * Threads: main thread only, before any other is started.
 */
#ifndef TEQUIO_CLI_USE_SHARES_H
#define TEQUIO_CLI_USE_SHARES_H

#include "evaluator/evaluator.h"

typedef struct shares shares;

/* Starts n - 1 processes. E_IO. */
MUST_USE status shares_start(const evaluator_request *request, int64_t n, shares **ret, error *err);
/* Ends those that are still at work. */
void shares_end(shares **s);

/* An evaluator_other, whose user is a shares *: waits for that share, and fails as it failed. */
MUST_USE status shares_take(void *user, int64_t share, buf *ret, error *err);

#endif
