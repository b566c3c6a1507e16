/*
 * A start that came to nothing, such as one whose data are not there, is taken back: what it made is
 * removed, and only that. What was in the folder before is in job.json ("found"), as is whether the
 * job has come to its first step ("begun"); so the next start can do the same for one that was killed.
 */
#include "common/store/jobdir_internal.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/store/live_file.h"
#include "common/store/lockfile.h"
#include "common/store/timeline.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a job has in its folder by its first step. Those that are there before the master are made by
 * other roles and by users, or tell other roles how the job ended: they do not count as "not empty".
 */
static const struct {
    const char *name;
    bool is_before;
    bool is_open;       /* only how its names begin */
} own[] = {
    {"key", true, false},
    {"log", true, false},
    {"eval", true, false},
    {"pins", true, false},
    {"state.json", true, false},
    {LIVE_FILE, false, false},
    {TIMELINE_FILE, false, false},
    {"config.json", false, false},
    {"vocabulary.json", false, false},
    {"journal", false, false},
    {"track", false, false},
    {"metrics.jsonl", false, false},
    {"events.out.tfevents", false, true},
    {"checkpoint", false, false},
    {"checkpoints", false, false},
    {"job.json", false, false},
    {JOBDIR_LOCK, true, true},
};

static bool is_own(const char *name, size_t i)
{
    size_t n = strlen(own[i].name);
    bool begins = strncmp(name, own[i].name, n) == 0;
    return begins && (own[i].is_open || !name[n] || fs_is_beside(name + n));
}

bool jobdir_is_before(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (own[i].is_before && is_own(name, i))
            return true;
    return false;
}

/* --- what killed writers left --- */

/* Files that only the job's master writes, but for in_log, by the beginnings of their names. */
static const char *const in_top[] = {
    "job.json",   "state.json",     "config.json",  "vocabulary.json",   "journal",    "metrics",      LIVE_FILE,
    "checkpoint", "rewound.events", "summary.json", "model.safetensors", "model.onnx", "model.tar.gz", TIMELINE_FILE,
};
static const char *const in_best[] = {"metrics.json", "model.safetensors"};
static const char *const in_log[] = {"config.json"}; /* a launcher's, before its tasks begin */

void jobdir_tidy(const jobdir *d)
{
    char *best = jobdir_file(d, "best"), *log = jobdir_file(d, "log");
    fs_remove_beside(jobdir_path(d), in_top, COUNT_OF(in_top));
    fs_remove_beside(best, in_best, COUNT_OF(in_best));
    fs_remove_beside(log, in_log, COUNT_OF(in_log));
    free(best);
    free(log);
}

/* --- what was there --- */

/* The folder and those above it that are missing. */
static int count_missing(const char *path)
{
    int n = 0;
    char *above = xstrdup(path);
    while (*above && !fs_exists(above)) {
        n++;
        char *slash = strrchr(above, '/');
        *(slash ? slash : above) = '\0';
    }
    free(above);
    return n;
}

status jobdir_note_found(jobdir *d, error *err)
{
    char **names = NULL;
    size_t n = 0;
    TRY(fs_list(d->path, &names, &n, err));
    json_decref(d->found);
    d->found = json_array();
    for (size_t i = 0; i < n; i++) /* a name that is not UTF-8 is none of ours */
        json_array_append_new(d->found, json_string(names[i]));
    fs_list_free(names, n);
    return OK;
}

status jobdir_make_folder(jobdir *d, error *err)
{
    d->n_made = count_missing(d->path);
    TRY(fs_mkdirs(d->path, err));
    return jobdir_note_found(d, err);
}

static bool was_found(const jobdir *d, const char *name)
{
    const json_t *found = d->job ? json_object_get(d->job, "found") : d->found;
    size_t i;
    const json_t *one;
    json_array_foreach(found, i, one)
        if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

/* --- whether it began --- */

bool jobdir_has_begun(const jobdir *d)
{
    return !json_is_false(json_object_get(d->job, "begun"));
}

status jobdir_begin(jobdir *d, error *err)
{
    if (d->moves_to)
        TRY(jobdir_move_end(d, err));
    TRY(jobdir_gone_back(d, err));
    return d->job && jobdir_has_begun(d) ? OK : jobdir_update(d, "begun", json_true(), err);
}

/* --- taking it back --- */

static status remove_name(const jobdir *d, const char *name, error *err)
{
    char *path = jobdir_file(d, "%s", name);
    status st = fs_remove_tree(path, err);
    free(path);
    return st;
}

/* One row of the table after another: until job.json is gone this can be repeated. */
status jobdir_remove_made(jobdir *d, bool all, error *err)
{
    char **names = NULL;
    size_t n = 0;
    TRY(fs_list(d->path, &names, &n, err));
    status st = OK;
    for (size_t row = 0; row < COUNT_OF(own); row++)
        for (size_t i = 0; st == OK && i < n; i++)
            if (is_own(names[i], row) && (all || !own[row].is_before) && !was_found(d, names[i]))
                st = remove_name(d, names[i], err);
    fs_list_free(names, n);
    if (st != OK)
        return st;
    json_decref(d->job);
    d->job = NULL;
    return OK;
}

static void remove_folders(const jobdir *d)
{
    char *path = xstrdup(d->path);
    for (int i = 0; i < d->n_made && rmdir(path) == 0; i++) {
        char *slash = strrchr(path, '/');
        *(slash ? slash : path) = '\0';
    }
    free(path);
}

/* Of a job whose lock was let go meanwhile: is it still the one that was begun, and nobody's? */
static bool take_back(jobdir *d)
{
    uint64_t id = d->job_id;
    if (d->lock_fd < 0) {
        char *path = jobdir_file(d, JOBDIR_LOCK);
        status st = lockfile_take(path, NULL, &d->lock_fd, NULL);
        free(path);
        if (st != OK || jobdir_load(d, NULL) != OK)
            return false;
    }
    return jobdir_is_ours(d) && d->job_id == id && !(d->job && jobdir_has_begun(d));
}

void jobdir_undo_start(jobdir *d, bool all)
{
    error err = ERROR_INIT;
    if (!d->is_first || jobdir_check_there(d, NULL) != OK || !take_back(d))
        return;
    d->is_first = false;
    if (jobdir_remove_made(d, all, &err) != OK)
        LOG_W("LEFT_OVER", "'%s' keeps some of what a start without success made: %s", d->path, err.text);
    else if (all)
        remove_folders(d);
}
