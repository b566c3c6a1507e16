/*
 * The reports of a small job, for tests of the accounts: what each slot has to say, and comparisons to
 * the last bit.
 */
#ifndef TEQUIO_TESTS_UNIT_MASTER_SUPPORT_REPORTS_H
#define TEQUIO_TESTS_UNIT_MASTER_SUPPORT_REPORTS_H

#include "master/accounting/metric_sums.h"

/* 37 examples in batches of 4, up to 4 a step: steps of 4, 4 and 2 slots, the last batch of 1 */
extern const steps job;

/* Numbers of all magnitudes, so that another order of sums shows. */
slot_report report_of(int64_t step, uint32_t slot);

void check_metrics(const metric_set *a, const metric_set *b);

#endif
