/* See report.h. */
#include "evaluator/report.h"

#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/appender.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MOST = 1 << 30 };

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

/* Whether the lines, one of which is that step's, hold it: "step":N with no digit behind it. */
static bool has_line(const char *lines, int64_t step)
{
    char key[48];
    int n = snprintf(key, sizeof key, "\"step\":%lld", (long long)step);
    const char *at = lines;
    while (at && (at = strstr(at, key)) && isdigit((unsigned char)at[n]))
        at += n;
    return at != NULL;
}

/* Once, whoever was killed in its midst: half a line is cut off. */
static status append_line(const jobdir *d, int64_t step, const json_t *line, error *err)
{
    char *path = jobdir_file(d, "eval/metrics.jsonl"), *text = json_text(line);
    buf lines = BUF_INIT;
    appender file = APPENDER_INIT;
    status st = fs_exists(path) ? fs_read(path, LINES_MOST, &lines, err) : OK;
    const char *newest = lines.data ? strrchr(lines.data, '\n') : NULL;
    size_t whole = newest ? (size_t)(newest - lines.data) + 1 : 0;
    if (st == OK && !(lines.data && has_line(lines.data, step))) {
        size_t n = strlen(text);
        text[n] = '\n'; /* takes the place of the terminating zero */
        st = appender_open(&file, path, false, err);
        if (st == OK)
            st = appender_cut(&file, whole, err);
        appender_add(&file, text, n + 1);
        if (st == OK)
            st = appender_flush(&file, err);
        if (st == OK)
            st = appender_sync(&file, err);
    }
    appender_close(&file);
    buf_fini(&lines);
    free(text);
    free(path);
    return st;
}

static status write_events(const jobdir *d, report *r, events **log, error *err)
{
    if (!*log) {
        char *folder = jobdir_events(d, "eval");
        status st = events_open(folder, log, err);
        free(folder);
        TRY(st);
    }
    for (size_t i = 0; !r->in_events && i < r->metrics.n; i++) {
        char tag[64];
        const char *name = r->metrics.at[i].name;
        snprintf(tag, sizeof tag, "validation/%s", name);
        events_scalar(*log, r->step, tag, (float)metric_result(&r->metrics, name));
    }
    r->in_events = true;
    TRY(events_flush(*log, err));
    return events_sync(*log, err);
}

status report_write(const jobdir *d, report *r, events **log, error *err)
{
    char *dir = jobdir_file(d, "eval"), *path = report_path(d, r->step);
    json_t *o = to_json(r);
    status st;
    TRY_OUT(st, jobdir_check_there(d, err));
    TRY_OUT(st, fs_mkdir(dir, 1, err));
    TRY_OUT(st, append_line(d, r->step, o, err));
    TRY_OUT(st, write_events(d, r, log, err));
    TRY_OUT(st, json_write_file(path, o, err));
out:
    json_decref(o);
    free(path);
    free(dir);
    return st;
}
