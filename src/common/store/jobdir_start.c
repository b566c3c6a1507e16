/*
 * Starting in a job dir. A start is decided by looking only (`decide`), once before the lock and
 * once more under it, so a refused start leaves nothing behind and two masters cannot both believe
 * they are first.
 *
 * Order at a first start: job.json, then all else. job.json is the truth; a folder with only a
 * config.json was made by somebody else and is left alone. A job that never came to its first step
 * (job.json says so) is in nobody's way: the next start takes its place (jobdir_undo.c).
 */
#include "common/store/jobdir_internal.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/jobstate.h"
#include "common/store/live_file.h"
#include "common/store/lockfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { TOKEN_BYTES = 16 };

/* Signs of life come once a second: three must fail. */
enum { PATIENCE_MIN_US = 3 * 1000 * 1000 };

/* START_AGAIN: in the place of a start that came to nothing. */
typedef enum action {
    START_FRESH,
    START_AGAIN,
    START_WIPED,
    RESUME,
    MOVE_END,
    ALREADY_DONE,
} action;

static bool has_file(const jobdir *d, const char *name)
{
    char *path = jobdir_file(d, "%s", name);
    bool there = fs_exists(path);
    free(path);
    return there;
}

/* --- job.json --- */

static status random_hex(size_t bytes, char *ret, error *err)
{
    unsigned char raw[TOKEN_BYTES];
    BUG_ON(bytes > sizeof raw);
    if (getrandom(raw, bytes, 0) != (ssize_t)bytes)
        return FAIL(err, E_IO, "the system gives no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < bytes; i++)
        snprintf(ret + 2 * i, 3, "%02x", raw[i]);
    return OK;
}

static status make_job(jobdir *d, const config *c, error *err)
{
    char id[17], token[2 * TOKEN_BYTES + 1];
    do {
        TRY(random_hex(8, id, err));
        d->job_id = strtoull(id, NULL, 16);
    } while (d->job_id == 0);
    TRY(random_hex(TOKEN_BYTES, token, err));
    d->job = json_pack("{s:s, s:s, s:i, s:i, s:b, s:O, s:s}", "job_id", id, "token", token,
                       "batches_per_step", 0, "starts", 0, "begun", 0, "found", d->found,
                       "tequio_version", TEQUIO_VERSION);
    BUG_ON(!d->job);
    jobdir_put_config(d, c);
    return jobdir_save(d, err);
}

/* --- deciding --- */

static status is_unused(const jobdir *d, bool *ret, error *err)
{
    *ret = true;
    if (!fs_exists(d->path))
        return OK;
    char **names = NULL;
    size_t n = 0;
    TRY(fs_list(d->path, &names, &n, err));
    for (size_t i = 0; i < n; i++)
        *ret = *ret && jobdir_is_before(names[i]);
    fs_list_free(names, n);
    return OK;
}

/* Whose checkpoints these are, with which eras and over which files, stands there alone. */
static status miss_job_json(const jobdir *d, error *err)
{
    if (has_file(d, "checkpoints"))
        return FAIL(err, E_CONFIG,
                    "'%s' has checkpoints and no job.json, which says what job they are of: put it "
                    "back, or choose another directory",
                    d->path);
    return FAIL(err, E_CONFIG,
                "'%s' is not empty and has no job.json, so there is no job in it to resume: "
                "choose another directory",
                d->path);
}

/* Of a folder in which somebody trained before: is it this job, and is there anything left to do?
 */
static status decide_recover(jobdir *d, const jobdir_request *r, action *ret, error *err)
{
    if (!has_file(d, "job.json"))
        return miss_job_json(d, err);
    TRY(jobdir_load(d, err));
    bool is_same = jobdir_has_config(d, r->config), is_done;
    if (!is_same && !r->chooses && !jobdir_has_begun(d)) {
        *ret = START_AGAIN;
        return OK;
    }
    TRY(jobdir_is_done(d, &is_done, err));
    if (!is_same)
        TRY(jobdir_check_other_end(d, r, is_done, err));
    *ret = !is_same ? MOVE_END : is_done && !r->chooses ? ALREADY_DONE : RESUME;
    return OK;
}

/* AllenNLP's words first. What a job that never began has left is not worth a refusal. */
static status decide_not_empty(jobdir *d, const jobdir_request *r, bool has_config, action *ret,
                               error *err)
{
    bool has_job = has_file(d, "job.json");
    if (has_job && jobdir_load(d, NULL) == OK && !jobdir_has_begun(d)) {
        *ret = START_AGAIN;
        return OK;
    }
    const char *way =
        has_job      ? "Specify --recover to recover from an existing output folder: its job goes on. "
                       "Specify --force to remove what is in it and start over"
        : has_config ? "There is no job.json, so --recover has no job to go on with. Specify --force to "
                       "remove what is in it and start over"
                     : "There is no job in it that --recover could go on with, or --force remove: "
                       "choose another directory";
    return FAIL(err, E_CONFIG,
                "Serialization directory (%s) already exists and is not empty. %s.", r->path, way);
}

static status decide(jobdir *d, const jobdir_request *r, action *ret, error *err)
{
    bool unused;
    TRY(is_unused(d, &unused, err));
    if (unused) {
        *ret = START_FRESH;
        return OK;
    }
    bool has_job = has_file(d, "job.json"), has_config = has_file(d, "config.json");
    if (r->force) {
        if (!has_job && !has_config)
            return FAIL(err, E_CONFIG,
                        "--force would remove '%s', which is not empty and does not look like a job dir "
                        "(neither job.json nor config.json): remove it yourself if you mean it",
                        d->path);
        *ret = START_WIPED;
        return OK;
    }
    if (r->rule == JOBDIR_ALLENNLP && !r->recover)
        return decide_not_empty(d, r, has_config, ret, err);
    /* an Estimator's folder may hold other things; only a job's own files decide */
    if (r->rule == JOBDIR_ESTIMATOR && !r->recover && !has_job && !has_config) {
        *ret = START_FRESH;
        return OK;
    }
    return decide_recover(d, r, ret, err);
}

/* --- acting --- */

static void tell_watching(void *user, const char *holder)
{
    const jobdir_request *r = user;
    if (r->watching)
        r->watching(holder);
}

static status lock(jobdir *d, const jobdir_request *r, error *err)
{
    char *path = jobdir_file(d, JOBDIR_LOCK);
    lockfile_takeover takeover = {.us = (int64_t)(r->frozen_s * 1e6),
                                  .watching = tell_watching,
                                  .user = (void *)(uintptr_t)r};
    if (takeover.us && takeover.us < PATIENCE_MIN_US)
        takeover.us = PATIENCE_MIN_US;
    status st = lockfile_take(path, &takeover, &d->lock_fd, err);
    if (st != OK)
        error_prepend(err, "job dir '%s'", d->path);
    free(path);
    return st;
}

/* What outlives a fresh start. */
static bool is_kept(const char *name)
{
    return strncmp(name, JOBDIR_LOCK, strlen(JOBDIR_LOCK)) == 0 || strcmp(name, "key") == 0;
}

/* Everything but that; job.json last, so that a wipe cut short can be repeated. */
static status wipe(jobdir *d, error *err)
{
    char **names = NULL;
    size_t n = 0;
    TRY(fs_list(d->path, &names, &n, err));
    status st = OK;
    for (int round = 0; st == OK && round < 2; round++) {
        for (size_t i = 0; st == OK && i < n; i++) {
            bool last = strcmp(names[i], "job.json") == 0;
            if (is_kept(names[i]) || last != (round == 1))
                continue;
            char *path = jobdir_file(d, "%s", names[i]);
            st = fs_remove_tree(path, err);
            free(path);
        }
    }
    fs_list_free(names, n);
    json_decref(d->job);
    d->job = NULL;
    return st;
}

/* A commit that replaced a checkpoint may have died after setting the old one aside. */
static status put_back_set_aside(const jobdir *d, error *err)
{
    char *folder = jobdir_file(d, "checkpoints");
    char **names = NULL;
    size_t n = 0;
    status st = fs_exists(folder) ? fs_list(folder, &names, &n, err) : OK;
    for (size_t i = 0; st == OK && i < n; i++) {
        const char *aside = strstr(names[i], ".old.");
        if (!aside)
            continue;
        char *from = xasprintf("%s/%s", folder, names[i]);
        char *to = xasprintf("%s/%.*s", folder, (int)(aside - names[i]), names[i]);
        if (!fs_exists(to) && rename(from, to) != 0)
            st = fs_fail(err, "rename to", to);
        free(from);
        free(to);
    }
    fs_list_free(names, n);
    free(folder);
    return st;
}

static status make_folders(const jobdir *d, error *err)
{
    static const char *const folders[] = {"checkpoints", "log"};
    status st = OK;
    for (size_t i = 0; st == OK && i < COUNT_OF(folders); i++) {
        char *path = jobdir_file(d, "%s", folders[i]);
        st = fs_mkdirs(path, err);
        free(path);
    }
    return st;
}

/* config.json is there, and a start that moved the end did not die before it was written anew. */
static bool tells_end(const jobdir *d, const config *c)
{
    char *path = jobdir_file(d, "config.json");
    json_t *written = NULL, *end = config_end(c), *value;
    bool tells = json_read_file(path, &written, NULL) == OK;
    const char *key;
    json_object_foreach(end, key, value)
        tells = tells && json_equal(jobdir_value_at(written, key), value);
    json_decref(written);
    json_decref(end);
    free(path);
    return tells;
}

static status jobdir_start_start(jobdir *d, const jobdir_request *r, action what, error *err)
{
    if (what == START_WIPED)
        TRYF(wipe(d, err), err, "--force");
    if (what == START_AGAIN)
        TRYF(jobdir_remove_made(d, false, err), err, "what an earlier start has left");
    bool goes_on = what == RESUME || what == MOVE_END;
    if (goes_on)
        TRY(put_back_set_aside(d, err));
    if (goes_on)
        TRY(jobdir_go_back(d, r, err));
    if (what == START_WIPED || what == START_AGAIN)
        TRY(jobdir_note_found(d, err));
    if (!goes_on)
        TRY(make_job(d, r->config, err));
    TRY(make_folders(d, err));
    jobdir_tidy(d);
    if (what == MOVE_END)
        d->moves_to = r->config; /* once it can make a step: until then the job is what it was */
    else if (!goes_on || !tells_end(d, r->config))
        TRY(jobdir_save_config(d, r->config, err));
    return fs_sync_dir(d->path, err);
}

/* Before anything is touched. */
static status check_choice(const jobdir *d, const jobdir_request *r, action what, error *err)
{
    bool is_done = false;
    if (what != RESUME && what != MOVE_END)
        return FAIL(err, E_CONFIG, "--recover=step-%lld: '%s' holds no job that has made a step",
                    (long long)r->step, d->path);
    TRY(jobdir_is_done(d, &is_done, err));
    return jobdir_must_go_back(d, r, is_done) ? jobdir_check_choice(d, r->step, err) : OK;
}

status jobdir_prepare(const jobdir_request *request, jobdir **ret, bool *ret_done, error *err)
{
    if (request->force && request->recover)
        return FAIL(err, E_CONFIG, "Illegal arguments: both force and recover are true.");
    if (!request->path || !request->path[0])
        return FAIL(err, E_USAGE, "the job dir's name is empty");
    jobdir *d = jobdir_create(request->path);
    action what = START_FRESH;
    status st = OK;
    TRY_OUT(st, decide(d, request, &what, err));
    if (request->chooses)
        TRY_OUT(st, check_choice(d, request, what, err));
    if (what != ALREADY_DONE && request->check)
        TRY_OUT(st, request->check(request->config, err));
    if (what != ALREADY_DONE) {
        TRY_OUT(st, jobdir_make_folder(d, err));
        TRY_OUT(st, jobdir_hold(d, err));
        TRY_OUT(st, lock(d, request, err));
        live_file_forget(d);
        TRY_OUT(st, decide(d, request, &what, err));
        d->is_first = what != RESUME && what != ALREADY_DONE;
    }
    *ret_done = what == ALREADY_DONE;
    if (what != ALREADY_DONE)
        TRY_OUT(st, jobdir_start_start(d, request, what, err));
    else
        TRY_OUT(st, jobdir_hold(d, err));
    *ret = d;
    return OK;
out:
    if (d->lock_fd >= 0)
        jobdir_undo_start(d, true);
    jobdir_close(&d);
    return st;
}

status jobdir_count_start(jobdir *d, int64_t *ret_restarts, error *err)
{
    int64_t before = jobdir_starts(d);
    TRY(jobdir_update(d, "starts", json_integer(before + 1), err));
    TRY(jobstate_begin(d, err));
    *ret_restarts = before;
    return OK;
}
