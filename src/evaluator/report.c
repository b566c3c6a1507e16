/* See report.h. */
#include "evaluator/report.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/appender.h"
#include "common/store/folder_lock.h"
#include "evaluator/confusion_picture.h"
#include "metric/figures.h"

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

static json_t *to_json(const report *r)
{
    json_t *o = json_object();
    json_object_set_new(o, "step", json_integer(r->step));
    json_object_set_new(o, "epochs_done", json_integer(r->epochs_done));
    json_object_set_new(o, "final", json_boolean(r->final));
    figures_put(o, &r->metrics, &r->figures);
    json_object_set_new(o, "examples", json_integer(r->examples));
    json_object_set_new(o, "seconds", json_real(r->seconds));
    return o;
}

/* The steps of which there are reports. */
static status list_reports(const jobdir *d, int64_t **ret, size_t *ret_n, error *err)
{
    char *dir = jobdir_file(d, "eval"), **names = NULL;
    size_t n = 0, n_steps = 0;
    status st = fs_list(dir, &names, &n, err);
    free(dir);
    TRY(st);
    int64_t *steps = xcalloc(n + 1, sizeof *steps);
    for (size_t i = 0; i < n; i++) {
        long long step;
        int end = 0;
        if (sscanf(names[i], "step-%lld.json%n", &step, &end) == 1 && end && !names[i][end])
            steps[n_steps++] = step;
    }
    fs_list_free(names, n);
    *ret = steps;
    *ret_n = n_steps;
    return OK;
}

typedef struct told {
    bool may_clean; /* no other evaluator is about to write the report of its line */
    buf kept;       /* the lines that stay */
    size_t bytes;   /* of all there were */
    int64_t newest; /* report; -1: none */
    bool is_undone; /* something was told of a later step */
    bool has_step;  /* among the lines that stay */
    int64_t step;   /* looked for */
} told;

/* A line without its report is of an evaluator that was killed, or of a checkpoint that counts no more, for
 * the job went back; half a line is nothing. */
static void keep_lines(const char *lines, const int64_t *steps, size_t n, told *t)
{
    for (size_t i = 0; i < n; i++)
        t->newest = steps[i] > t->newest ? steps[i] : t->newest;
    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1) {
        json_t *line = NULL;
        bool stays = !t->may_clean;
        if (json_parse(lines, (size_t)(end - lines), "a line", E_DATA, &line, NULL) != OK)
            continue;
        int64_t step = json_integer_value(json_object_get(line, "step"));
        for (size_t i = 0; i < n && !stays; i++)
            stays = steps[i] == step;
        json_decref(line);
        if (stays)
            buf_add(&t->kept, lines, (size_t)(end - lines) + 1);
        t->has_step |= stays && step == t->step;
        t->is_undone |= !stays && step > t->newest;
    }
}

static status read_told(const jobdir *d, const char *path, told *ret, error *err)
{
    int64_t *steps = NULL;
    size_t n = 0;
    buf lines = BUF_INIT;
    if (!fs_exists(path))
        return OK;
    TRY(list_reports(d, &steps, &n, err));
    status st = fs_read(path, LINES_MOST, &lines, err);
    if (st == OK)
        keep_lines(lines.data, steps, n, ret);
    ret->bytes = lines.size;
    buf_fini(&lines);
    free(steps);
    return st;
}

/* Each step once, whatever was killed in its midst. */
static status append_line(const jobdir *d, const json_t *line, told *t, error *err)
{
    char *path = jobdir_file(d, "eval/metrics.jsonl"), *text = json_text(line);
    appender file = APPENDER_INIT;
    size_t n = strlen(text);
    text[n] = '\n'; /* takes the place of the terminating zero */
    status st = read_told(d, path, t, err);
    if (st == OK && t->kept.size != t->bytes)
        st = fs_write_atomic(path, t->kept.data ? t->kept.data : "", t->kept.size, err);
    if (st == OK)
        st = appender_open(&file, path, false, err);
    if (!t->has_step)
        appender_add(&file, text, n + 1);
    if (st == OK)
        st = appender_flush(&file, err);
    if (st == OK)
        st = appender_sync(&file, err);
    appender_close(&file);
    free(text);
    free(path);
    return st;
}

/* Points of steps later than any report's go. */
static status rewind_events(const jobdir *d, int64_t newest, events **log, error *err)
{
    char *folder = jobdir_events(d, "eval");
    events_bounds until = {.scalars = newest, .others = newest};
    events_close(log);
    status st = fs_exists(folder) ? events_rewind(folder, &until, err) : OK;
    free(folder);
    return st;
}

typedef struct points {
    events *log;
    int64_t step;
} points;

static void add_point(void *user, const char *name, double value)
{
    const points *to = user;
    char *tag = xasprintf("validation/%s", name);
    events_scalar(to->log, to->step, tag, (float)value);
    free(tag);
}

static status add_picture(const points *to, const metric_figure *f, error *err)
{
    confusion_picture p;
    char *tag = xasprintf("validation/%s", f->name);
    status st = confusion_picture_draw(f, &p, err);
    if (st == OK)
        events_image(to->log, to->step, tag, p.width, p.height, p.png.data, p.png.size);
    if (st == OK)
        confusion_picture_fini(&p);
    free(tag);
    return st;
}

/* A table of the metric pr_curve. */
static bool is_pr_curve(const metric_figure *f)
{
    return f->are_counts && f->rows == METRIC_CURVE_ROWS && f->columns == METRIC_THRESHOLDS && !isnan(f->values[0]);
}

static void add_pr_curve(const points *to, const metric_figure *f)
{
    char *tag = xasprintf("validation/%s", f->name);
    events_pr_curve(to->log, to->step, tag, f->values, (size_t)f->columns);
    free(tag);
}

static status add_points(report *r, events *log, error *err)
{
    points to = {log, r->step};
    for (size_t i = 0; i < r->figures.n; i++)
        if (confusion_picture_fits(&r->figures.at[i]))
            TRY(add_picture(&to, &r->figures.at[i], err));
        else if (is_pr_curve(&r->figures.at[i]))
            add_pr_curve(&to, &r->figures.at[i]);
    figures_each_number(&r->metrics, &r->figures, add_point, &to);
    r->in_events = true;
    return OK;
}

static status write_events(const jobdir *d, report *r, events **log, error *err)
{
    if (!*log) {
        char *folder = jobdir_events(d, "eval");
        status st = events_open(folder, log, err);
        free(folder);
        TRY(st);
    }
    if (!r->in_events)
        TRY(add_points(r, *log, err));
    TRY(events_flush(*log, err));
    return events_sync(*log, err);
}

/* Files that evaluators write here, by the beginnings of their names. */
static const char *const written[] = {"files.json", "metrics.jsonl", "rewound.events", "step-"};

status report_write(const jobdir *d, report *r, events **log, error *err)
{
    char *dir = jobdir_file(d, "eval"), *path = report_path(d, r->step);
    json_t *o = to_json(r);
    int lock = -1;
    told t = {.kept = BUF_INIT, .newest = -1, .step = r->step};
    bool was_told;
    status st;
    TRY_OUT(st, jobdir_check_there(d, err));
    TRY_OUT(st, fs_mkdir(dir, 1, err));
    t.may_clean = folder_lock(dir, &lock);
    if (t.may_clean)
        fs_remove_beside(dir, written, COUNT_OF(written));
    was_told = report_exists(d, r->step); /* another evaluator was faster */
    if (was_told && (!r->final || report_is_final(d, r->step)))
        goto out;
    TRY_OUT(st, append_line(d, o, &t, err));
    if (t.is_undone)
        TRY_OUT(st, rewind_events(d, t.newest, log, err));
    r->in_events = (r->in_events && !t.is_undone) || was_told;
    TRY_OUT(st, write_events(d, r, log, err));
    TRY_OUT(st, json_write_file(path, o, err));
out:
    folder_unlock(lock);
    buf_fini(&t.kept);
    json_decref(o);
    free(path);
    free(dir);
    return st;
}
