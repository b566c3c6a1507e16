/*
 * Epochs of a job that end, are evaluated and judged, for tests of results. Whatever fails fails the test.
 */
#ifndef TEQUIO_TESTS_UNIT_MASTER_SUPPORT_RESULTS_H
#define TEQUIO_TESTS_UNIT_MASTER_SUPPORT_RESULTS_H

#include "master/accounting/results.h"
#include "unit/master/support_accounts.h"

/* an epoch has 2 steps */
enum { PER_EPOCH = 2 };
extern const steps results_job;

typedef struct results_judging {
    const char *metric;
    int64_t patience;
} results_judging;

results_options results_options_of(const accounts *b, results_judging j);
results *results_at(const accounts *b, int64_t step, results_judging j);

/* The epoch's checkpoint, all of whose weights are its number, and what was trained. */
void results_end_epoch(const accounts *b, results *r, int epoch);
void results_evaluate(const accounts *b, int epoch, const char *loss, const char *accuracy);
bool results_stops(results *r);

double accounts_number(const accounts *b, const char *file, const char *key);

#endif
