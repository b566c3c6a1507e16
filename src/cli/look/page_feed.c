#include "cli/look/page_feed.h"

#include "cli/look/job_view.h"
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/store/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { STATUS, FILES, TOPICS }; /* of a job */

static const struct {
    const char *name, *path;
} files[] = {
    {"config", "config.json"},
    {"metrics", "metrics.jsonl"},
    {"evaluations", "eval/metrics.jsonl"},
    {"timeline", TIMELINE_FILE},
};

http_feed *page_feed_new(size_t n_dirs)
{
    return http_feed_new(n_dirs * TOPICS);
}

/* `data`, which is taken, with the number of its run; NULL, what is not UTF-8, is not told. */
static void tell(http_feed *f, size_t run, int topic, const char *event, json_t *data)
{
    if (!data)
        return;
    json_object_set_new(data, "run", json_integer((json_int_t)run));
    char *text = json_text(data);
    http_feed_tell(f, run * TOPICS + (size_t)topic, event, text);
    free(text);
    json_decref(data);
}

static void tell_status(http_feed *f, size_t run, const char *dir)
{
    job_view v;
    error why = ERROR_INIT;
    if (job_view_open(dir, &v, &why) != OK) {
        tell(f, run, STATUS, "status", json_pack("{s:o}", "trouble", json_words(why.text)));
        return;
    }
    tell(f, run, STATUS, "status", json_pack("{s:o*}", "status", job_view_json(&v)));
    job_view_close(&v);
}

/* --- files --- */

/* By what it is, and how large and when it was written. */
static json_t *mark_of(const char *dir, const char *path)
{
    struct stat info;
    char *whole = xasprintf("%s/%s", dir, path), mark[80] = "";
    if (stat(whole, &info) == 0)
        snprintf(mark, sizeof mark, "%" PRIx64 "-%" PRIx64 "-%" PRIx64 ".%lx", (uint64_t)info.st_ino,
                 (uint64_t)info.st_size, (uint64_t)info.st_mtim.tv_sec, (unsigned long)info.st_mtim.tv_nsec);
    free(whole);
    return json_string(mark);
}

static json_t *marks_of_logs(const char *dir)
{
    json_t *tasks = NULL, *task, *marks = json_object();
    size_t i;
    if (job_view_tasks(dir, &tasks, NULL) != OK)
        return marks;
    json_array_foreach(tasks, i, task)
    {
        const char *name = json_string_value(task);
        char *path = name ? xasprintf("log/%s.log", name) : NULL;
        if (path)
            json_object_set_new(marks, name, mark_of(dir, path));
        free(path);
    }
    json_decref(tasks);
    return marks;
}

static void tell_files(http_feed *f, size_t run, const char *dir)
{
    json_t *marks = json_object();
    for (size_t i = 0; i < COUNT_OF(files); i++)
        json_object_set_new(marks, files[i].name, mark_of(dir, files[i].path));
    tell(f, run, FILES, "files", json_pack("{s:o, s:o}", "files", marks, "logs", marks_of_logs(dir)));
}

void page_feed_look(http_feed *f, char *const *dirs, size_t n)
{
    if (!http_feed_listeners(f)) {
        http_feed_forget(f); /* who listens next shall not begin with what is old */
        return;
    }
    for (size_t i = 0; i < n; i++) {
        tell_status(f, i, dirs[i]);
        tell_files(f, i, dirs[i]);
    }
}
