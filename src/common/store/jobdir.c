/*
 * The job dir as everybody opens it: its paths, what job.json holds, and whose it is.
 */
#include "common/store/jobdir_internal.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/parts/steps.h"
#include "common/store/facts.h"
#include "common/store/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOUCH_US = 1000000, VOCABULARY_LIMIT = 256 << 20 };

char *jobdir_file(const jobdir *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *name = xvasprintf(format, args), *path = xasprintf("%s/%s", d->path, name);
    va_end(args);
    free(name);
    return path;
}

void jobdir_use_events(jobdir *d, const char *folder)
{
    free(d->events);
    d->events = xstrdup(folder);
}

char *jobdir_events(const jobdir *d, const char *below)
{
    return xasprintf("%s%s%s", d->events ? d->events : d->path, below ? "/" : "", below ? below : "");
}

/* --- job.json --- */

static status check_job(const char *path, const json_t *job, uint64_t *ret_id, error *err)
{
    const json_t *lines = json_object_get(job, "config_digest_lines");
    const char *id = json_string_value(json_object_get(job, "job_id"));
    json_int_t k = json_integer_value(json_object_get(job, "batches_per_step"));
    json_int_t starts = json_integer_value(json_object_get(job, "starts"));
    char *end = NULL;
    uint64_t number = id ? strtoull(id, &end, 16) : 0;
    if (!id || strlen(id) != 16 || *end || number == 0 ||
        !json_is_string(json_object_get(job, "token")) ||
        !json_is_string(json_object_get(job, "config_digest")) || !json_is_array(lines) ||
        !json_is_integer(json_object_get(job, "batches_per_step")) || k < 0 ||
        !json_is_integer(json_object_get(job, "starts")) || starts < 0)
        return FAIL(err, E_DATA,
                    "'%s': not a Tequio job: job_id, token, batches_per_step, starts, "
                    "config_digest and config_digest_lines are needed",
                    path);
    *ret_id = number;
    return OK;
}

status jobdir_load(jobdir *d, error *err)
{
    char *path = jobdir_file(d, "job.json");
    status st = OK;
    json_t *job = NULL;
    if (fs_exists(path)) {
        TRY_OUT(st, json_read_file(path, &job, err));
        TRY_OUT(st, check_job(path, job, &d->job_id, err));
        json_decref(d->job);
        d->job = job;
        job = NULL;
    }
out:
    json_decref(job);
    free(path);
    return st;
}

status jobdir_save(const jobdir *d, error *err)
{
    return jobdir_write_json(d, "job.json", d->job, err);
}

/* --- life --- */

jobdir *jobdir_create(const char *path)
{
    jobdir *d = xcalloc(1, sizeof *d);
    *d = (jobdir){.path = xstrdup(path), .dir_fd = -1, .lock_fd = -1};
    size_t n = strlen(d->path);
    while (n > 1 && d->path[n - 1] == '/')
        d->path[--n] = '\0';
    return d;
}

status jobdir_open(const char *path, jobdir **ret, error *err)
{
    if (!path || !path[0])
        return FAIL(err, E_USAGE, "the job dir's name is empty");
    jobdir *d = jobdir_create(path);
    status st = fs_mkdirs(d->path, err);
    if (st == OK)
        st = jobdir_hold(d, err);
    if (st == OK)
        st = jobdir_load(d, err);
    if (st != OK) {
        jobdir_close(&d);
        return st;
    }
    *ret = d;
    return OK;
}

bool jobdir_try_lock(jobdir *d)
{
    char *path = jobdir_file(d, JOBDIR_LOCK);
    bool is_held =
        d->lock_fd >= 0 || lockfile_take(path, &(lockfile_takeover){.us = 0}, &d->lock_fd, NULL) == OK;
    free(path);
    return is_held;
}

void jobdir_let_go(jobdir *d)
{
    char *path = jobdir_file(d, JOBDIR_LOCK);
    lockfile_release(&d->lock_fd, path);
    free(path);
}

void jobdir_close(jobdir **d)
{
    if (!d || !*d)
        return;
    jobdir_let_go(*d);
    if ((*d)->dir_fd >= 0)
        close((*d)->dir_fd);
    json_decref((*d)->job);
    json_decref((*d)->found);
    free((*d)->events);
    free((*d)->path);
    free(*d);
    *d = NULL;
}

const char *jobdir_path(const jobdir *d)
{
    return d->path;
}

uint64_t jobdir_job_id(const jobdir *d)
{
    return d->job_id;
}

const char *jobdir_token(const jobdir *d)
{
    return d->job ? json_string_value(json_object_get(d->job, "token")) : "";
}

int64_t jobdir_batches_per_step(const jobdir *d)
{
    return json_integer_value(json_object_get(d->job, "batches_per_step"));
}

status jobdir_update(jobdir *d, const char *key, json_t *value, error *err)
{
    if (!d->job) {
        json_decref(value);
        return FAIL(err, E_IO, "'%s' has no job.json: no job was started in it", d->path);
    }
    json_t *before = json_incref(json_object_get(d->job, key));
    json_object_set_new(d->job, key, value);
    status st = jobdir_save(d, err);
    if (st != OK)
        json_object_set(d->job, key, before);
    json_decref(before);
    return st;
}

status jobdir_set_batches_per_step(jobdir *d, int64_t k, error *err)
{
    BUG_ON(k < 1);
    int64_t fixed = jobdir_batches_per_step(d);
    if (fixed == k)
        return OK;
    if (fixed)
        return FAIL(err, E_CONFIG,
                    "trainer.batches_per_step is %lld here, but this job began with %lld and keeps "
                    "it for life",
                    (long long)k, (long long)fixed);
    return jobdir_update(d, "batches_per_step", json_integer(k), err);
}

status jobdir_keep_examples(jobdir *d, int64_t n, error *err)
{
    json_int_t kept = json_integer_value(json_object_get(d->job, "examples_per_epoch"));
    if (kept == n)
        return OK;
    if (kept)
        return FAIL(err, E_DATA,
                    "the training data have %lld examples, but this job began with %lld: its "
                    "epochs would be others",
                    (long long)n, (long long)kept);
    return jobdir_update(d, "examples_per_epoch", json_integer(n), err);
}

void jobdir_batch_kinds(const jobdir *d, steps_kinds *ret)
{
    const json_t *kept = json_object_get(d->job, "batch_kinds");
    *ret = (steps_kinds){.n = 0};
    for (size_t i = 0; i < json_array_size(kept) && i < STEPS_KINDS; i++) {
        const json_t *one = json_array_get(kept, i);
        steps_kind k = {json_integer_value(json_array_get(one, 0)), json_integer_value(json_array_get(one, 1))};
        if (k.examples < 1 || k.batch_size < 1)
            break;
        ret->at[ret->n++] = k;
    }
}

status jobdir_keep_batch_kinds(jobdir *d, const steps_kinds *kinds, error *err)
{
    if (kinds->n == 0)
        return OK;
    json_t *list = json_array();
    for (size_t i = 0; i < kinds->n; i++)
        json_array_append_new(list, json_pack("[I, I]", (json_int_t)kinds->at[i].examples,
                                              (json_int_t)kinds->at[i].batch_size));
    const json_t *kept = json_object_get(d->job, "batch_kinds");
    if (!kept)
        return jobdir_update(d, "batch_kinds", list, err);
    bool same = json_equal(kept, list);
    json_decref(list);
    return same ? OK
                : FAIL(err, E_DATA, "the training data have other lengths than those that this job began with: its "
                                    "batches would be others");
}

status jobdir_keep_fingerprint(jobdir *d, const char *now, char **ret_before, error *err)
{
    const char *kept = json_string_value(json_object_get(d->job, "fingerprint"));
    *ret_before = kept && strcmp(kept, now) != 0 ? xstrdup(kept) : NULL;
    return kept && !*ret_before ? OK : jobdir_update(d, "fingerprint", json_string(now), err);
}

status jobdir_keep_files(jobdir *d, const char *facts, error *err)
{
    json_t *now = facts ? facts_to_json(facts) : json_null(), *kept = json_object_get(d->job, "files");
    bool is_kept = kept ? json_equal(kept, now) : !facts;
    if (!is_kept)
        return jobdir_update(d, "files", now, err);
    json_decref(now);
    return OK;
}

void jobdir_files(const jobdir *d, buf *ret)
{
    facts_from_json(json_object_get(d->job, "files"), ret);
}

int64_t jobdir_starts(const jobdir *d)
{
    return json_integer_value(json_object_get(d->job, "starts"));
}

/* summary.json is written last of all; one that says "complete": false is a report on the way. */
status jobdir_is_done(const jobdir *d, bool *ret, error *err)
{
    char *path = jobdir_file(d, "summary.json");
    json_t *summary = NULL;
    status st = OK;
    *ret = false;
    if (fs_exists(path)) {
        st = json_read_file(path, &summary, err);
        *ret = st == OK && json_is_object(summary) &&
               !json_is_false(json_object_get(summary, "complete"));
    }
    json_decref(summary);
    free(path);
    return st;
}

/* --- whose it is --- */

status jobdir_hold(jobdir *d, error *err)
{
    if (d->dir_fd < 0)
        d->dir_fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return d->dir_fd >= 0 ? OK : fs_fail(err, "open folder", d->path);
}

status jobdir_check_there(const jobdir *d, error *err)
{
    struct stat held, there;
    if (d->dir_fd < 0)
        return OK;
    if (fstat(d->dir_fd, &held) != 0 || stat(d->path, &there) != 0)
        return FAIL(err, E_DISK, "job dir '%s' is not there any more (moved away? its file system gone?): %s",
                    d->path, strerror(errno));
    if (held.st_dev != there.st_dev || held.st_ino != there.st_ino)
        return FAIL(err, E_DISK,
                    "job dir '%s' is another folder than the job began in: put that back, or start again",
                    d->path);
    return OK;
}

bool jobdir_is_ours(const jobdir *d)
{
    if (d->lock_fd < 0)
        return true;
    char *path = jobdir_file(d, JOBDIR_LOCK);
    bool is_ours = lockfile_is_ours(d->lock_fd, path);
    free(path);
    return is_ours;
}

status jobdir_check_ours(const jobdir *d, error *err)
{
    TRY(jobdir_check_there(d, err));
    if (jobdir_is_ours(d))
        return OK;
    jobdir *now = NULL;
    int64_t start = jobdir_starts(d) + 1;
    if (jobdir_open(d->path, &now, NULL) == OK && jobdir_starts(now) > start)
        start = jobdir_starts(now);
    jobdir_close(&now);
    return FAIL(err, E_LOST, "another master (start %lld) has taken over the job",
                (long long)start);
}

/* Without it the next master would not know that there is a job. */
static status keep_job(const jobdir *d, error *err)
{
    char *path = jobdir_file(d, "job.json");
    bool is_there = !d->job || fs_exists(path);
    if (!is_there)
        LOG_W("JOB_JSON", "'%s' was removed: it is written again", path);
    free(path);
    return is_there ? OK : jobdir_save(d, err);
}

status jobdir_touch(jobdir *d, error *err)
{
    int64_t now = clock_us();
    if (d->lock_fd < 0 || now - d->touched_us < TOUCH_US)
        return OK;
    TRY(jobdir_check_ours(d, err));
    lockfile_touch(d->lock_fd);
    d->touched_us = now;
    return keep_job(d, err);
}

static status guard(const void *user, error *err)
{
    return jobdir_check_ours(user, err);
}

status jobdir_write(const jobdir *d, const char *name, const char *text, size_t bytes, error *err)
{
    TRY(jobdir_check_ours(d, err));
    char *path = jobdir_file(d, "%s", name);
    status st = fs_write_guarded(path, text, bytes, guard, d, err);
    free(path);
    return st;
}

status jobdir_write_json(const jobdir *d, const char *name, const json_t *value, error *err)
{
    buf text = BUF_INIT;
    json_pretty(value, &text);
    status st = jobdir_write(d, name, text.data, text.size, err);
    buf_fini(&text);
    return st;
}

status jobdir_read_vocabulary(const jobdir *d, char **ret, error *err)
{
    char *path = jobdir_file(d, "vocabulary.json");
    buf text = BUF_INIT;
    status st = OK;
    if (fs_exists(path))
        st = fs_read(path, VOCABULARY_LIMIT, &text, err);
    free(path);
    if (st == OK)
        *ret = text.data ? buf_detach(&text) : NULL;
    buf_fini(&text);
    return st;
}

status jobdir_keep_vocabulary(const jobdir *d, const char *text, error *err)
{
    char *kept = NULL;
    TRY(jobdir_read_vocabulary(d, &kept, err));
    status st = OK;
    if (!kept)
        st = jobdir_write(d, "vocabulary.json", text, strlen(text), err);
    else if (strcmp(kept, text) != 0)
        st = FAIL(err, E_DATA,
                  "the training data are not those that this job began with: they have another "
                  "vocabulary than '%s/vocabulary.json'",
                  d->path);
    free(kept);
    return st;
}

uint64_t jobdir_pulse(const jobdir *d)
{
    char *path = jobdir_file(d, JOBDIR_LOCK);
    uint64_t trace = lockfile_trace(path);
    free(path);
    return trace;
}

status jobdir_remove_results(const jobdir *d, error *err)
{
    static const char *const names[] = {"summary.json", "metrics.json"};
    status st = jobdir_check_ours(d, err);
    for (size_t i = 0; st == OK && i < COUNT_OF(names); i++) {
        char *path = jobdir_file(d, "%s", names[i]);
        st = fs_remove_tree(path, err);
        free(path);
    }
    return st == OK ? fs_sync_dir(d->path, err) : st;
}
