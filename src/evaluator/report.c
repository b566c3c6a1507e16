/* See report.h. */
#include "evaluator/report.h"

#include "common/base/fs.h"
#include "common/base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *report_path(const jobdir *d, int64_t step)
{
    return jobdir_file(d, "eval/step-%09lld.json", (long long)step);
}

bool report_exists(const jobdir *d, int64_t step)
{
    char *path = report_path(d, step);
    bool exists = fs_exists(path);
    free(path);
    return exists;
}

bool report_is_final(const jobdir *d, int64_t step)
{
    char *path = report_path(d, step);
    json_t *text = NULL;
    bool final =
        json_read_file(path, &text, NULL) == OK && json_is_true(json_object_get(text, "final"));
    json_decref(text);
    free(path);
    return final;
}

/* JSON has no word for what is not a number: null. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *to_json(const report *r)
{
    json_t *o = json_object();
    json_object_set_new(o, "step", json_integer(r->step));
    json_object_set_new(o, "epochs_done", json_integer(r->epochs_done));
    json_object_set_new(o, "final", json_boolean(r->final));
    for (size_t i = 0; i < r->metrics.n; i++) {
        const char *name = r->metrics.at[i].name;
        json_object_set_new(o, name, number(metric_result(&r->metrics, name)));
    }
    json_object_set_new(o, "examples", json_integer(r->examples));
    json_object_set_new(o, "seconds", json_real(r->seconds));
    return o;
}

static status append_line(const jobdir *d, const json_t *line, error *err)
{
    char *path = jobdir_file(d, "eval/metrics.jsonl");
    char *text = json_text(line);
    size_t n = strlen(text);
    text[n] = '\n'; /* takes the place of the terminating zero */
    status st;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        st = FAIL(err, E_IO, "open '%s': %s", path, strerror(errno));
    else
        st = fs_write_all(fd, text, n + 1, path, err);
    if (fd >= 0)
        close(fd);
    free(text);
    free(path);
    return st;
}

static status write_events(const jobdir *d, const report *r, events **log, error *err)
{
    if (!*log) {
        char *folder = jobdir_events(d, "eval");
        status st = fs_mkdirs(folder, err);
        if (st == OK)
            st = events_open(folder, log, err);
        free(folder);
        TRY(st);
    }
    for (size_t i = 0; i < r->metrics.n; i++) {
        char tag[64];
        const char *name = r->metrics.at[i].name;
        snprintf(tag, sizeof tag, "validation/%s", name);
        TRY(events_scalar(*log, r->step, tag, (float)metric_result(&r->metrics, name), err));
    }
    return events_flush(*log, err);
}

status report_write(const jobdir *d, const report *r, events **log, error *err)
{
    char *dir = jobdir_file(d, "eval"), *path = report_path(d, r->step);
    json_t *o = to_json(r);
    status st;
    TRY_OUT(st, fs_mkdirs(dir, err));
    TRY_OUT(st, append_line(d, o, err));
    TRY_OUT(st, write_events(d, r, log, err));
    TRY_OUT(st, json_write_file(path, o, err));
out:
    json_decref(o);
    free(path);
    free(dir);
    return st;
}
