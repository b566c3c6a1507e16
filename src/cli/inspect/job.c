/* Job dirs: how the job stands, from the files that are there; a job that runs may be looked at. */
#include "cli/inspect/kinds.h"
#include "cli/inspect/text.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/checkpoint.h"
#include "common/store/history.h"
#include "common/store/jobstate.h"
#include "common/store/lockfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- report --- */

/* NULL where the file is absent. */
static status read_if_there(const jobdir *d, const char *name, json_t **ret, error *err)
{
    char *path = jobdir_file(d, "%s", name);
    *ret = NULL;
    status st = fs_exists(path) ? json_read_file(path, ret, err) : OK;
    free(path);
    return st;
}

/* What people ask first of a configuration, by dotted path. */
static json_t *tell_config(json_t *resolved)
{
    static const char *const paths[] = {
        "model.type",           "train_data_path",   "data_loader.batch_size",
        "trainer.num_epochs",   "trainer.max_steps", "trainer.optimizer.type",
        "trainer.optimizer.lr", "random_seed",
    };
    json_t *told = json_object();
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        json_t *value = resolved;
        char *path = xstrdup(paths[i]), *rest = path;
        for (char *key; value && (key = strsep(&rest, "."));)
            value = json_object_get(value, key);
        if (value && !json_is_null(value))
            json_object_set(told, paths[i], value);
        free(path);
    }
    return told;
}

static json_t *tell_checkpoints(const int64_t *steps, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer(steps[i]));
    return list;
}

/* metrics.json, written at the end; before that, the newest metrics_epoch_<n>.json. */
static status read_metrics(const jobdir *d, json_t **ret, error *err)
{
    TRY(read_if_there(d, "metrics.json", ret, err));
    if (*ret)
        return OK;
    char **names = NULL, *newest = NULL;
    size_t n = 0;
    TRY(fs_list(jobdir_path(d), &names, &n, err));
    long highest = -1;
    for (size_t i = 0; i < n; i++) {
        long epoch;
        int end = 0;
        if (sscanf(names[i], "metrics_epoch_%ld.json%n", &epoch, &end) == 1 && end &&
            !names[i][end] && epoch > highest) {
            highest = epoch;
            newest = names[i];
        }
    }
    status st = newest ? read_if_there(d, newest, ret, err) : OK;
    fs_list_free(names, n);
    return st;
}

static status list_best(const jobdir *d, json_t **ret, error *err)
{
    char *path = jobdir_file(d, "best"), **names = NULL;
    size_t n = 0;
    status st = fs_exists(path) ? fs_list(path, &names, &n, err) : OK;
    if (st == OK) {
        *ret = json_array();
        for (size_t i = 0; i < n; i++)
            json_array_append_new(*ret, json_string(names[i]));
    }
    fs_list_free(names, n);
    free(path);
    return st;
}

/* Sets "state" and, while a master works in the dir, "master"; else "end", why the last one left. A
 * start that was killed could not say so: "unfinished". */
static void job_tell_state(const jobdir *d, const json_t *summary, json_t *o)
{
    char *path = jobdir_file(d, JOBDIR_LOCK), *holder = lockfile_holder(path);
    bool finished = summary && !json_is_false(json_object_get(summary, "complete"));
    jobstate last = {.kind = JOBSTATE_NONE};
    if (jobstate_read(d, &last, NULL) != OK)
        last.kind = JOBSTATE_NONE;
    bool told = last.kind == JOBSTATE_FAILED || last.kind == JOBSTATE_PREEMPTED;
    const char *state = holder ? "running" : finished ? "finished" : "unfinished";
    if (!holder && !finished && told)
        state = jobstate_word(last.kind);
    json_object_set_new(o, "state", json_string(state));
    if (holder)
        json_object_set_new(o, "master", json_string(holder));
    else if (!finished && told)
        json_object_set_new(o, "end", json_string(last.text));
    jobstate_fini(&last);
    free(holder);
    free(path);
}

static void set_if_there(json_t *o, const char *key, json_t *value)
{
    if (value)
        json_object_set(o, key, value);
}

static status tell_job(const jobdir *d, json_t *o, error *err)
{
    json_t *job = NULL, *resolved = NULL, *summary = NULL, *metrics = NULL, *best = NULL;
    int64_t *steps = NULL;
    size_t n = 0;
    status st = OK;
    TRY_OUT(st, read_if_there(d, "job.json", &job, err));
    TRY_OUT(st, read_if_there(d, "config.json", &resolved, err));
    TRY_OUT(st, read_if_there(d, "summary.json", &summary, err));
    TRY_OUT(st, read_metrics(d, &metrics, err));
    TRY_OUT(st, list_best(d, &best, err));
    TRY_OUT(st, checkpoint_list(d, &steps, &n, err));
    json_object_set_new(o, "kind", json_string("job"));
    json_object_set_new(o, "dir", json_words(jobdir_path(d)));
    job_tell_state(d, summary, o);
    static const char *const keys[] = {"job_id", "starts", "batches_per_step", "tequio_version"};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        set_if_there(o, keys[i], json_object_get(job, keys[i]));
    json_object_set_new(o, "config", tell_config(resolved));
    json_object_set_new(o, "checkpoints", tell_checkpoints(steps, n));
    set_if_there(o, "best", best);
    set_if_there(o, "history", json_object_get(job, "history"));
    set_if_there(o, "metrics", metrics);
    set_if_there(o, "summary", summary);
out:
    free(steps);
    json_decref(best);
    json_decref(metrics);
    json_decref(summary);
    json_decref(resolved);
    json_decref(job);
    return st;
}

status inspect_look_job(const char *dir, json_t **ret, error *err)
{
    jobdir *d = NULL;
    TRY(jobdir_open(dir, &d, err));
    json_t *o = json_object();
    status st = tell_job(d, o, err);
    if (st == OK)
        *ret = o;
    else
        json_decref(o);
    jobdir_close(&d);
    return st;
}

/* --- text --- */

static void print_values(buf *ret, const char *title, json_t *values)
{
    if (!json_object_size(values))
        return;
    buf_addf(ret, "%s\n", title);
    inspect_table t = {.columns = 2};
    const char *key, *below;
    json_t *value, *inner;
    json_object_foreach(values, key, value)
    {
        if (!json_is_object(value)) {
            inspect_table_cell(&t, "%s", key);
            inspect_table_number(&t, value);
        }
        json_object_foreach(value, below, inner)
        {
            inspect_table_cell(&t, "%s.%s", key, below);
            inspect_table_number(&t, inner);
        }
    }
    inspect_table_flush(&t, ret);
}

static void print_list(buf *ret, const char *title, const json_t *list)
{
    buf_addf(ret, "%s", title);
    for (size_t i = 0; i < json_array_size(list); i++) {
        buf_adds(ret, " ");
        inspect_add_number(ret, json_array_get(list, i));
    }
    buf_addf(ret, "%s\n", json_array_size(list) ? "" : " none");
}

void inspect_print_job(const json_t *report, buf *ret)
{
    const char *master = inspect_str(report, "master"), *end = inspect_str(report, "end");
    buf_addf(ret, "%s: job %s, %s%s%s\n", inspect_str(report, "dir"), inspect_str(report, "job_id"),
             inspect_str(report, "state"), *master ? ", master is process " : "", master);
    buf_addf(ret, "  starts %lld, batches per step %lld, tequio %s\n",
             inspect_int(report, "starts"), inspect_int(report, "batches_per_step"),
             inspect_str(report, "tequio_version"));
    if (*end)
        buf_addf(ret, "  the last start ended: %s\n", end);
    print_values(ret, "config", json_object_get(report, "config"));
    history_print_list(json_object_get(report, "history"), "history", ret);
    print_list(ret, "checkpoints", json_object_get(report, "checkpoints"));
    print_list(ret, "best", json_object_get(report, "best"));
    print_values(ret, "metrics", json_object_get(report, "metrics"));
    print_values(ret, "summary", json_object_get(report, "summary"));
}
