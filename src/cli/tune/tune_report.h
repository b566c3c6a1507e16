/*
 * What people see of a search: a line a trial, and at the end the best; and the folder best/, which names it.
 * Threads: the main one.
 */
#ifndef TEQUIO_CLI_TUNE_TUNE_REPORT_H
#define TEQUIO_CLI_TUNE_TUNE_REPORT_H

#include "tune/study.h"

void tune_report_head(const study *s, const char *metric);
/* `seconds` < 0: not known, it ended before. `why`: of a failed one. */
void tune_report_trial(const study *s, const trial *t, double seconds, const char *why);

/* Writes DIR/best/config.json, the configuration of the best trial as its job has it, and trial.json: its number,
 * objective and values. E_DATA, E_IO, E_DISK. */
MUST_USE status tune_report_write_best(const study *s, const char *dir, error *err);
void tune_report_end(const study *s, const char *dir, const char *metric);

#endif
