/*
 * What people see of a search: a line a trial, and at the end the best.
 * Threads: the main one.
 */
#ifndef TEQUIO_CLI_TUNE_TUNE_REPORT_H
#define TEQUIO_CLI_TUNE_TUNE_REPORT_H

#include "tune/study.h"

/* What is known of the trials of another search. */
void tune_report_priors(const study *s, const char *previous, const char *metric);
void tune_report_head(const study *s, const char *metric);
/* `seconds` < 0: not known, it ended before. `why`: of a failed one. */
void tune_report_trial(const study *s, const trial *t, double seconds, const char *why);
void tune_report_end(const study *s, const char *dir, const char *metric);

#endif
