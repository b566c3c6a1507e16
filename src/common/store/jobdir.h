/*
 * The job dir: every path in it, the rules for starting in one, and the small files.
 * DESIGN: JOB_DIR/{config.json, job.json, summary.json, metrics.jsonl, metrics_epoch_<n>.json,
 * metrics.json, events..., eval/, log/, checkpoint, checkpoints/, best/, model.safetensors}.
 * Threads: a jobdir is immutable once opened.
 */
#ifndef TEQUIO_COMMON_STORE_JOBDIR_H
#define TEQUIO_COMMON_STORE_JOBDIR_H

#include "common/base/error.h"
#include "common/config/config.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum jobdir_rule {
    JOBDIR_ALLENNLP,  /* -s: not empty needs recover or force */
    JOBDIR_ESTIMATOR, /* --job-dir: an unfinished job of equal config resumes by itself */
} jobdir_rule;

typedef struct jobdir_request {
    const char *path;
    jobdir_rule rule;
    bool recover, force;
    const config *config;
} jobdir_request;

typedef struct jobdir jobdir;

/* The master's (or launcher's) opening: applies the rule, makes the folders, writes job.json and
 * config.json at a first start. Messages are AllenNLP's and Estimator's (E_CONFIG).
 *
 * A job that is already done (summary.json is there and does not say "complete": false) is
 * ret_done = true: nothing is touched and *ret is as jobdir_open gives it. Otherwise *ret holds the
 * dir's lock until jobdir_close, and a second master is refused (E_USAGE names the process).
 * Folders that other roles make first (log, eval, pins) and the job's key do not count as "not
 * empty"; the key outlives a fresh start. */
MUST_USE status jobdir_prepare(const jobdir_request *request, jobdir **ret, bool *ret_done,
                               error *err);
/* Everybody else's: the dir must be there (created when missing, without config.json). */
MUST_USE status jobdir_open(const char *path, jobdir **ret, error *err);
void jobdir_close(jobdir **d);

const char *jobdir_path(const jobdir *d);
uint64_t jobdir_job_id(const jobdir *d); /* from job.json; 0 if there is none yet */
const char *
jobdir_token(const jobdir *d); /* random text in job.json: shows that two tasks see the same dir */
int64_t jobdir_batches_per_step(const jobdir *d); /* K fixed at the first start; 0: not yet */
MUST_USE status jobdir_set_batches_per_step(jobdir *d, int64_t k, error *err);
/* Counts a start in job.json; the number before this one is the number of restarts. */
MUST_USE status jobdir_count_start(jobdir *d, int64_t *ret_restarts, error *err);

/* Path of a thing inside, e.g. jobdir_file(d, "checkpoints/step-%09lld", n). The caller frees it.
 */
char *jobdir_file(const jobdir *d, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
