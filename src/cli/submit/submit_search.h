/*
 * `tequio submit` of a job with `hyperparameters`: a search whose trials are this command again, each with values
 * among the arguments and a job dir of its own. Threads: the main one.
 */
#ifndef TEQUIO_CLI_SUBMIT_SUBMIT_SEARCH_H
#define TEQUIO_CLI_SUBMIT_SUBMIT_SEARCH_H

#include "cli/submit/request.h"
#include "cli/submit/target.h"

/* Whether the job is a search, and this process not one of its trials (CLOUD_ML_TRIAL_ID). */
bool submit_is_search(const submit_request *o);

/* Runs it in the job dir, or goes on with the one that is there, as the rule of --job-dir is; the exit code. With
 * --dry-run it is only checked, and told in a line. */
int submit_search(const launch *l, const target *t, error *err);

#endif
