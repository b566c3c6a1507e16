/* Savers of two servers for tests, by plan; an epoch is per_epoch steps of two batches. */
#ifndef TEQUIO_TESTS_UNIT_MASTER_SUPPORT_SAVER_H
#define TEQUIO_TESTS_UNIT_MASTER_SUPPORT_SAVER_H

#include "unit/master/support_accounts.h"

enum { SERVERS = 2 };

typedef struct plan {
    int64_t begin, total, every_steps, per_epoch;
    bool epoch_ends, scales;
    double every_s;
} plan;

saver *saver_of(const accounts *b, const plan *p);

/* A shard comes in; the cut it completes is committed, and *ret_step is its version, else -1. */
MUST_USE status saver_take(saver *s, const shard_report *r, int64_t *ret_step, error *err);

#endif
