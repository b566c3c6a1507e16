/* Savers of two servers for tests, by plan; an epoch is per_epoch steps of two batches. */
#ifndef TEQUIO_TESTS_UNIT_MASTER_SUPPORT_SAVER_H
#define TEQUIO_TESTS_UNIT_MASTER_SUPPORT_SAVER_H

#include "unit/master/support_books.h"

enum { SERVERS = 2, SECOND_US = 1000000 };

typedef struct plan {
    int64_t begin, total, every_steps, per_epoch;
    bool epoch_ends;
    double every_s;
} plan;

saver *saver_of(const books *b, const plan *p);

#endif
