#include "cli/look/job_view.h"

#include "cli/inspect/kinds.h"
#include "cli/inspect/text.h"
#include "cli/look/log_file.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/live_file.h"
#include "common/store/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WARNINGS = 5, EVENTS = 8, EVENTS_READ = 2000, LOG_TAIL = 256 << 10 };

/* --- how it stands --- */

status job_view_check(const char *path, error *err)
{
    char *job = xasprintf("%s/job.json", path);
    int why = access(job, F_OK) == 0 ? 0 : errno;
    free(job);
    if (why != 0 && why != ENOENT && why != ENOTDIR)
        return FAIL(err, E_DATA, "look for job.json in '%s': %s", path, strerror(why));
    return why == 0 ? OK : FAIL(err, E_DATA, "'%s' is no job dir: it has no job.json", path);
}

/* The last warnings of the master, which hears of all that goes wrong. */
static json_t *read_warnings(const char *path)
{
    char *folder = xasprintf("%s/log", path);
    json_t *list = json_array();
    log_file log = {0};
    if (log_file_open(folder, "master.0", &log, NULL) == OK) {
        log_file_skip(&log, LOG_TAIL);
        while (log_file_next(&log)) {
            json_t *line = log.has_head && log.level <= LOG_WARN ? json_string(log.line) : NULL;
            if (line)
                json_array_append_new(list, line);
            if (json_array_size(list) > WARNINGS)
                json_array_remove(list, 0);
        }
    }
    log_file_close(&log);
    free(folder);
    return list;
}

/* It is told, not synced, and may be of another version: one that is none says nothing of the job, but that. */
static status read_live(const jobdir *d, job_view *v, error *err)
{
    error why = ERROR_INIT;
    status st = live_file_read(d, &v->live, &why);
    if (st == E_DATA)
        json_object_set_new(v->job, "live_trouble", json_words(why.text));
    return st == OK || st == E_DATA ? OK : FAIL(err, st, "%s", why.text);
}

/* The newest events, but for those that each epoch has; `all` is taken. */
static json_t *newest_events(json_t *all)
{
    json_t *list = json_array();
    for (size_t i = json_array_size(all); i-- > 0 && json_array_size(list) < EVENTS;) {
        json_t *event = json_array_get(all, i);
        const char *kind = inspect_str(event, "kind");
        if (strcmp(kind, "checkpoint") != 0 && strcmp(kind, "evaluation") != 0)
            json_array_insert(list, 0, event);
    }
    json_decref(all);
    return list;
}

status job_view_open(const char *path, job_view *ret, error *err)
{
    jobdir *d = NULL;
    job_view v = {0};
    json_t *events = NULL;
    TRY(job_view_check(path, err));
    TRY(inspect_look_job(path, &v.job, err));
    status st = jobdir_open(path, &d, err);
    if (st == OK)
        st = read_live(d, &v, err);
    if (st == OK)
        st = timeline_read(d, EVENTS_READ, &events, err);
    jobdir_close(&d);
    if (st != OK) {
        job_view_close(&v);
        return st;
    }
    json_object_set_new(v.job, "warnings", read_warnings(path));
    json_object_set_new(v.job, "timeline", newest_events(events));
    *ret = v;
    return OK;
}

void job_view_close(job_view *v)
{
    json_decref(v->job);
    json_decref(v->live);
    *v = (job_view){0};
}

bool job_view_runs(const job_view *v)
{
    return strcmp(inspect_str(v->job, "state"), "running") == 0;
}

json_t *job_view_json(const job_view *v)
{
    return json_pack("{s:O, s:O?}", "job", v->job, "live", v->live);
}

/* --- what it has written --- */

static status read_from(int fd, const char *path, int64_t from, int64_t most, buf *ret, error *err)
{
    buf_reserve(ret, ret->size + (size_t)most + 1);
    while (most > 0) {
        ssize_t n = pread(fd, ret->data + ret->size, (size_t)most, from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fs_fail(err, "read", path);
        if (n == 0)
            break; /* it was cut back meanwhile */
        ret->size += (size_t)n;
        from += n;
        most -= n;
    }
    return OK;
}

/* Ends with the last whole line. */
static void keep_whole_lines(buf *text)
{
    while (text->size && text->data[text->size - 1] != '\n')
        text->size--;
    buf_add(text, "", 1); /* its end, which does not count */
    text->size--;
}

/* Where to go on: behind a line of the same file, else at the beginning. */
static int64_t valid_from(int fd, const struct stat *info, bool is_same, int64_t from)
{
    char before = '\n';
    if (!is_same || from <= 0 || from > info->st_size)
        return 0;
    return pread(fd, &before, 1, from - 1) == 1 && before == '\n' ? from : 0;
}

static status read_lines(int fd, const char *path, const char *tag, int64_t from, job_lines *ret, error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return fs_fail(err, "look at", path);
    snprintf(ret->tag, sizeof ret->tag, "%" PRIx64 "-%" PRIx64, (uint64_t)info.st_dev, (uint64_t)info.st_ino);
    ret->from = valid_from(fd, &info, tag && strcmp(tag, ret->tag) == 0, from);
    int64_t most = info.st_size - ret->from;
    TRY(read_from(fd, path, ret->from, most < JOB_LINES_MOST ? most : JOB_LINES_MOST, &ret->text, err));
    keep_whole_lines(&ret->text);
    ret->next = ret->from + (int64_t)ret->text.size;
    return OK;
}

status job_view_lines(const char *path, const char *name, const char *tag, int64_t from, job_lines *ret, error *err)
{
    char *file = xasprintf("%s/%s", path, name);
    job_lines l = {.text = BUF_INIT};
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    status st = OK;
    if (fd >= 0)
        st = read_lines(fd, file, tag, from, &l, err);
    else if (errno != ENOENT)
        st = fs_fail(err, "open", file);
    else
        keep_whole_lines(&l.text);
    if (fd >= 0)
        close(fd);
    free(file);
    if (st == OK)
        *ret = l;
    else
        job_lines_fini(&l);
    return st;
}

void job_lines_fini(job_lines *l)
{
    buf_fini(&l->text);
}

/* --- logs --- */

status job_view_tasks(const char *path, json_t **ret, error *err)
{
    char *folder = xasprintf("%s/log", path), **names = NULL;
    size_t n = 0;
    status st = fs_exists(folder) ? fs_list(folder, &names, &n, err) : OK;
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        char *task = log_file_task(names[i]);
        if (task)
            json_array_append_new(list, json_string(task));
        free(task);
    }
    fs_list_free(names, n);
    free(folder);
    if (st == OK)
        *ret = list;
    else
        json_decref(list);
    return st;
}

/* A name that we listed, and no path. */
static bool is_listed(const json_t *tasks, const char *task)
{
    size_t i;
    json_t *one;
    json_array_foreach(tasks, i, one)
        if (json_is_string(one) && strcmp(json_string_value(one), task) == 0)
            return true;
    return false;
}

status job_view_log(const char *path, const char *task, long bytes, buf *ret, error *err)
{
    json_t *tasks = NULL;
    TRY(job_view_tasks(path, &tasks, err));
    bool is_there = is_listed(tasks, task);
    json_decref(tasks);
    if (!is_there)
        return FAIL(err, E_DATA, "there is no log of that task");
    char *folder = xasprintf("%s/log", path);
    log_file log = {0};
    status st = log_file_open(folder, task, &log, err);
    free(folder);
    if (st != OK)
        return st;
    log_file_skip(&log, bytes);
    while (log_file_next(&log))
        buf_addf(ret, "%s\n", log.line);
    log_file_close(&log);
    return OK;
}
