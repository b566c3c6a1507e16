/*
 * What comes of a trial, from the files of its job dir. Threads: any.
 */
#ifndef TEQUIO_CLI_TUNE_TRIAL_RESULT_H
#define TEQUIO_CLI_TUNE_TRIAL_RESULT_H

#include "cli/tune/trial_files.h"
#include "tune/study.h"

typedef struct trial_result {
    double objective; /* the best of its evaluations; finite */
    int64_t steps;
} trial_result;

/* The next evaluation after `epoch`. An epoch whose checkpoint was gone before it was evaluated is passed over. E_DATA:
 * there is none yet; other failures may pass. */
MUST_USE status trial_evaluation_read(const trial_files *f, const char *job_dir, const char *metric, int64_t epoch,
                                      trial_evaluation *ret, error *err);

/* E_DATA: the job has no such metric, or one that is not finite; other failures may pass. */
MUST_USE status trial_result_read(const trial_files *f, const char *job_dir, const char *metric, trial_result *ret,
                                  error *err);

#endif
