/*
 * The job dir: every path in it, the rules for starting in one, whose it is, and the small files.
 * What is in it: JOB_DIR/{config.json, job.json, state.json, live.json, timeline.jsonl, summary.json,
 * metrics.jsonl, metrics_epoch_<n>.json, metrics.json, events..., eval/, log/, track/, checkpoint, checkpoints/,
 * best/, model.safetensors, model.onnx, model.tar.gz}.
 *
 * A master that lives touches its lock about once a second. One that does not (frozen, or cut off
 * from the files) may be followed by another with a higher start count; it finds out before its
 * next commit, and leaves without touching anything.
 *
 * Threads: jobdir_touch and what writes job.json belong to the thread of the master; all else is
 * immutable once opened.
 */
#ifndef TEQUIO_COMMON_STORE_JOBDIR_H
#define TEQUIO_COMMON_STORE_JOBDIR_H

#include "common/base/error.h"
#include "common/base/json.h"
#include "common/config/config.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum jobdir_rule {
    JOBDIR_ALLENNLP,  /* -s: not empty needs recover or force */
    JOBDIR_ESTIMATOR, /* --job-dir: a job of equal config, but for its end, resumes by itself */
} jobdir_rule;

typedef struct jobdir_request {
    const char *path;
    jobdir_rule rule;
    bool recover, force;
    bool chooses; /* a job that is there goes back to the checkpoint of `step`; newer ones are set aside */
    int64_t step;
    const config *config;
    double frozen_s; /* a master that has shown no life for so long is followed; 0: never */
    void (*watching)(const char *holder); /* told once when that takes long; NULL: nobody */
    /* Asked once it is known that there is something to train, and before anything is touched: what it
     * refuses, leaves everything as it was. NULL: nobody. */
    status (*check)(const config *c, error *err);
} jobdir_request;

typedef struct jobdir jobdir;

/* The master's (or launcher's) opening: applies the rule, makes the folders, writes job.json and
 * config.json at a first start. Messages are AllenNLP's and Estimator's (E_CONFIG).
 *
 * A job that is already done (jobdir_is_done) is ret_done = true: nothing is touched and *ret is as
 * jobdir_open gives it, unless a step is chosen. E_CONFIG lists the checkpoints there are if the step
 * chosen is none; E_DATA: it is damaged. The same step is gone back to once: what restarts a task
 * says it again. A job whose end the configuration moves (history.h) goes on, done or not; the
 * request's configuration must then live until jobdir_begin. Otherwise *ret holds the dir's lock until
 * jobdir_close, and a second master is refused (E_BUSY names the process), as soon as it has seen the
 * first one's sign of life.
 * Folders that other roles make first (log, eval, pins), state.json and the job's key do not count as
 * "not empty"; the key outlives a fresh start. Nor does what is left of a start that never came to
 * its first step: the next one takes its place. */
MUST_USE status jobdir_prepare(const jobdir_request *request, jobdir **ret, bool *ret_done,
                               error *err);
/* E_CONFIG names the first key, but for its end, in which the job that is there now differs from `c`;
 * OK where there is no job. */
MUST_USE status jobdir_check_config(const jobdir *d, const config *c, error *err);
/* Everybody else's: the dir must be there (created when missing, without config.json). */
MUST_USE status jobdir_open(const char *path, jobdir **ret, error *err);
/* Takes its lock if nobody has it; false: somebody has, or it cannot be written here. */
bool jobdir_try_lock(jobdir *d);
void jobdir_let_go(jobdir *d); /* of its lock: another process is to be the master */
void jobdir_close(jobdir **d);

/* The job comes to its first step, and is one to resume from now on; or to the first one of a start
 * that moves its end, which happens now. */
MUST_USE status jobdir_begin(jobdir *d, error *err);
/* It was told to go back to a checkpoint, and has not come to a step since: what servers hold
 * counts no more. */
bool jobdir_goes_back(const jobdir *d);
/* A first start that failed before that is taken back: what it made is removed, and only that; with
 * `all` also what others read of it (state.json, log) and folders that it made. Does nothing for any
 * other start. Warns if something stays; it then is in no later start's way. */
void jobdir_undo_start(jobdir *d, bool all);

const char *jobdir_path(const jobdir *d);
uint64_t jobdir_job_id(const jobdir *d); /* from job.json; 0 if there is none yet */
const char *
jobdir_token(const jobdir *d); /* random text in job.json: shows that two tasks see the same dir */
int64_t jobdir_batches_per_step(const jobdir *d); /* K fixed at the first start; 0: not yet */
MUST_USE status jobdir_set_batches_per_step(jobdir *d, int64_t k, error *err);
/* The examples of an epoch, fixed at the first start too: E_DATA if there were others. */
MUST_USE status jobdir_keep_examples(jobdir *d, int64_t n, error *err);
/* The same of the kinds of its batches, if they are of several. */
struct steps_kinds;
MUST_USE status jobdir_keep_batch_kinds(jobdir *d, const struct steps_kinds *kinds, error *err);
void jobdir_batch_kinds(const jobdir *d, struct steps_kinds *ret);
/* `c` is the configuration of the job in the dir, which is done, but for an end that it can still
 * have: a master that starts with it moves the end. False of another job's, and of no job. */
bool jobdir_can_move_end(const jobdir *d, const config *c);
/* What the workers' bits depend on, from now on. *ret_before is what it was until now, if that was
 * something else, and the caller's to free; else NULL. */
MUST_USE status jobdir_keep_fingerprint(jobdir *d, const char *now, char **ret_before, error *err);
/* The facts of the files that the job reads (facts.h); NULL: they are not to be checked, and what they were
 * is forgotten. Appends them; nothing if they are not known. */
MUST_USE status jobdir_keep_files(jobdir *d, const char *facts, error *err);
void jobdir_files(const jobdir *d, buf *ret);
/* Nothing is left to train: summary.json is there and does not say "complete": false. */
MUST_USE status jobdir_is_done(const jobdir *d, bool *ret, error *err);
/* Counts a start in job.json; the number before this one is the number of restarts. */
MUST_USE status jobdir_count_start(jobdir *d, int64_t *ret_restarts, error *err);
int64_t jobdir_starts(const jobdir *d); /* so many were counted */

/* The master's sign of life, given at most once a second, however often this is called, and its
 * look whether the job is still its own: E_LOST names the start that has taken over. A job.json that
 * somebody removed is written again. */
MUST_USE status jobdir_touch(jobdir *d, error *err);
/* The folder that was opened still has its name: E_DISK once it was moved, removed, or its file system
 * is gone. Nobody makes it anew then. */
MUST_USE status jobdir_check_there(const jobdir *d, error *err);
/* Both looks; a caller that holds no lock is told OK of the second. Cheap. */
MUST_USE status jobdir_check_ours(const jobdir *d, error *err);
bool jobdir_is_ours(const jobdir *d);

/* Writes a file of the job, atomically and only while the job is ours (E_LOST). */
MUST_USE status jobdir_write(const jobdir *d, const char *name, const char *text, size_t bytes,
                             error *err);
MUST_USE status jobdir_write_json(const jobdir *d, const char *name, const json_t *value,
                                  error *err);

/* Removes what writers of the job's own files left beside them that were killed. Belongs to the
 * master, as these files do. */
void jobdir_tidy(const jobdir *d);

/* The job's vocabulary: what the training data taught their reader, vocabulary.json. All other data
 * are read by it. *ret is NULL if there is none; the caller frees it. */
MUST_USE status jobdir_read_vocabulary(const jobdir *d, char **ret, error *err);
/* Writes it, or compares it with what the job has: E_DATA when the data have changed. */
MUST_USE status jobdir_keep_vocabulary(const jobdir *d, const char *text, error *err);

/* The file, of a job dir, that its master touches once a second. */
#define JOBDIR_LOCK "job.lock"

/* Another number each time the master showed that it lives; 0: none ever did. */
uint64_t jobdir_pulse(const jobdir *d);

/* Event files lie in the job dir, those of evaluations in its eval/. Another folder takes the place
 * of the job dir for them once it is named, before any role begins. */
void jobdir_use_events(jobdir *d, const char *folder);
/* The folder of event files; `below` is NULL, or "eval". The caller frees it. */
char *jobdir_events(const jobdir *d, const char *below);

/* Path of a thing inside, e.g. jobdir_file(d, "checkpoints/step-%09lld", n). The caller frees it.
 */
char *jobdir_file(const jobdir *d, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
