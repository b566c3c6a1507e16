#include "cli/look/page_routes.h"

#include "cli/look/exposition.h"
#include "cli/look/histograms.h"
#include "cli/look/profiles.h"
#include "cli/look/job_view.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/timeline.h"
#include "watch/metrics/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOG_BYTES = 128 << 10, CONFIG_MOST = 16 << 20, WORST_MOST = 16 << 20 };

#define JSON_TYPE "application/json"
#define TEXT_TYPE "text/plain; charset=utf-8"

extern const char table_page[];

/* --- answers --- */

static void answer_text(const char *type, int code, buf *text, http_answer *ret)
{
    *ret = (http_answer){.code = code, .type = type, .own = *text};
    *text = (buf)BUF_INIT;
}

/* NULL: what was to be told is not UTF-8. */
static status answer_json(json_t *owned, http_answer *ret, error *err)
{
    if (!owned)
        return FAIL(err, E_DATA, "it is not UTF-8");
    char *text = json_text(owned);
    buf body = BUF_INIT;
    buf_adds(&body, text);
    free(text);
    json_decref(owned);
    answer_text(JSON_TYPE, 200, &body, ret);
    return OK;
}

static void answer_failure(status st, const error *why, http_answer *ret)
{
    buf body = BUF_INIT;
    buf_addf(&body, "%s\n", why->text);
    answer_text(TEXT_TYPE, st == E_DATA ? 404 : 500, &body, ret);
}

/* --- documents of a job --- */

static status tell_status(const char *dir, const http_request *r, http_answer *ret, error *err)
{
    job_view v;
    (void)r;
    TRY(job_view_open(dir, &v, err));
    json_t *both = job_view_json(&v);
    job_view_close(&v);
    return answer_json(both, ret, err);
}

static status tell_config(const char *dir, const http_request *r, http_answer *ret, error *err)
{
    char *path = xasprintf("%s/config.json", dir);
    buf text = BUF_INIT;
    (void)r;
    status st = fs_read(path, CONFIG_MOST, &text, err);
    free(path);
    if (st == OK)
        answer_text(JSON_TYPE, 200, &text, ret);
    buf_fini(&text);
    return st;
}

static status tell_lines(const char *dir, const http_request *r, http_answer *ret, error *err)
{
    static const struct {
        const char *word, *name;
    } files[] = {{"metrics", "metrics.jsonl"}, {"evaluations", "eval/metrics.jsonl"}, {"timeline", TIMELINE_FILE}};
    const char *word = http_query(r, "file"), *from = http_query(r, "from"), *name = NULL;
    for (size_t i = 0; word && i < COUNT_OF(files); i++)
        if (strcmp(word, files[i].word) == 0)
            name = files[i].name;
    if (!name)
        return FAIL(err, E_DATA, "?file= is metrics, evaluations or timeline");
    job_lines l;
    TRY(job_view_lines(dir, name, http_query(r, "tag"), from ? strtoll(from, NULL, 10) : 0, &l, err));
    json_t *told = json_pack("{s:s, s:I, s:I, s:s%}", "tag", l.tag, "from", (json_int_t)l.from, "next",
                             (json_int_t)l.next, "text", l.text.data, l.text.size);
    job_lines_fini(&l);
    return answer_json(told, ret, err);
}

static status tell_tasks(const char *dir, const http_request *r, http_answer *ret, error *err)
{
    json_t *tasks = NULL;
    (void)r;
    TRY(job_view_tasks(dir, &tasks, err));
    return answer_json(tasks, ret, err);
}

static status tell_log(const char *dir, const http_request *r, http_answer *ret, error *err)
{
    const char *task = http_query(r, "task");
    buf text = BUF_INIT;
    status st = job_view_log(dir, task ? task : "", LOG_BYTES, &text, err);
    if (st == OK)
        answer_text(TEXT_TYPE, 200, &text, ret);
    buf_fini(&text);
    return st;
}

static status tell_histograms(const char *dir, const http_request *r, http_answer *ret, error *err)
{
    jobdir *d = NULL;
    json_t *told = NULL;
    TRY(jobdir_open(dir, &d, err));
    char *folder = jobdir_events(d, NULL);
    status st = histograms_tell(folder, http_query(r, "tag"), &told, err);
    free(folder);
    jobdir_close(&d);
    return st == OK ? answer_json(told, ret, err) : st;
}

/* As `tequio evaluate --errors` has left them; an empty object where it has not. */
static status tell_worst(const char *dir, const http_request *r, http_answer *ret, error *err)
{
    char *path = xasprintf("%s/eval/worst.json", dir);
    buf text = BUF_INIT;
    (void)r;
    status st = OK;
    if (fs_exists(path))
        st = fs_read(path, WORST_MOST, &text, err);
    else
        buf_adds(&text, "{}");
    free(path);
    if (st == OK)
        answer_text(JSON_TYPE, 200, &text, ret);
    buf_fini(&text);
    return st;
}

static status tell_profiles(const char *dir, const http_request *r, http_answer *ret, error *err)
{
    json_t *names = NULL;
    (void)r;
    TRY(profiles_list(dir, &names, err));
    return answer_json(names, ret, err);
}

static status tell_profile(const char *dir, const http_request *r, http_answer *ret, error *err)
{
    buf text = BUF_INIT;
    status st = profiles_read(dir, http_query(r, "name"), &text, err);
    if (st == OK)
        answer_text(JSON_TYPE, 200, &text, ret);
    buf_fini(&text);
    return st;
}

static const struct {
    const char *name;
    status (*tell)(const char *dir, const http_request *r, http_answer *ret, error *err);
} documents[] = {
    {"status", tell_status}, {"config", tell_config}, {"lines", tell_lines},
    {"tasks", tell_tasks},   {"log", tell_log},       {"histograms", tell_histograms},
    {"worst", tell_worst},
    {"profiles", tell_profiles}, {"profile", tell_profile},
};

/* --- which of them --- */

/* The name of a folder, which tells a run from others. */
static const char *last_part(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    return slash && slash[1] ? slash + 1 : dir;
}

static status tell_runs(const page_jobs *jobs, http_answer *ret, error *err)
{
    json_t *list = json_array();
    for (size_t i = 0; i < jobs->n; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:f}", "dir", jobs->dirs[i], "name",
                                              last_part(jobs->dirs[i]), "price_per_hour", jobs->price_per_hour));
    return answer_json(list, ret, err);
}

/* For Prometheus. */
static void tell_metrics(const page_jobs *jobs, http_answer *ret)
{
    job_view *views = xcalloc(jobs->n, sizeof *views);
    struct timespec now;
    buf text = BUF_INIT;
    for (size_t i = 0; i < jobs->n; i++)
        if (job_view_open(jobs->dirs[i], &views[i], NULL) != OK)
            views[i] = (job_view){0}; /* a sample says so */
    clock_gettime(CLOCK_REALTIME, &now);
    exposition_text(jobs->dirs, views, jobs->n, (double)now.tv_sec + (double)now.tv_nsec / 1e9, &text);
    answer_text(SAMPLE_TYPE, 200, &text, ret);
    for (size_t i = 0; i < jobs->n; i++)
        job_view_close(&views[i]);
    free(views);
}

static status tell_document(const page_jobs *jobs, const http_request *r, http_answer *ret, error *err)
{
    size_t run;
    int end = 0;
    bool is_run = sscanf(r->path, "/api/run/%8zu/%n", &run, &end) == 1 && end && run < jobs->n;
    for (size_t i = 0; is_run && i < COUNT_OF(documents); i++)
        if (strcmp(r->path + end, documents[i].name) == 0)
            return documents[i].tell(jobs->dirs[run], r, ret, err);
    return FAIL(err, E_DATA, "there is nothing of that name");
}

void page_answer(void *user, const http_request *r, http_answer *ret)
{
    const page_jobs *jobs = user;
    error why = ERROR_INIT;
    if (strcmp(r->path, "/") == 0) {
        *ret = (http_answer){
            .code = 200, .type = "text/html; charset=utf-8", .text = table_page, .bytes = strlen(table_page)};
        return;
    }
    if (strcmp(r->path, "/api/events") == 0) {
        *ret = (http_answer){.code = 200, .type = "text/event-stream", .listens = true};
        return;
    }
    if (strcmp(r->path, "/metrics") == 0) {
        tell_metrics(jobs, ret);
        return;
    }
    status st = strcmp(r->path, "/api/runs") == 0 ? tell_runs(jobs, ret, &why) : tell_document(jobs, r, ret, &why);
    if (st != OK)
        answer_failure(st, &why, ret);
}
