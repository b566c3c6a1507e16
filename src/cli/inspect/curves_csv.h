/*
 * The curves of a job as a table: the lines of metrics.jsonl, a row a step, beside what evaluations of the same step
 * found (eval/metrics.jsonl), in columns that all rows have. Threads: functions without shared state.
 */
#ifndef TEQUIO_CLI_INSPECT_CURVES_CSV_H
#define TEQUIO_CLI_INSPECT_CURVES_CSV_H

#include "common/base/error.h"

#include <stdio.h>

/* RFC 4180 but for line ends, which are '\n'. Columns are step, then others as they appear: figures of training under
 * training_NAME, of evaluations under validation_NAME, facts under their own names; what is not known is empty, and
 * what is no number is left out. The lines of training are read twice, and not kept. E_DATA: `dir` is no job's. */
MUST_USE status curves_csv_write(const char *dir, FILE *to, error *err);

#endif
