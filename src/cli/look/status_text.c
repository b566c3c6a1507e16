#include "cli/look/status_text.h"

#include "cli/inspect/text.h"
#include "cli/look/live_progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Of a master that lives: it tells every two seconds. */
#define OLD_S 10.0
#define MOMENT_MOST 253402300800.0 /* the year 10000 */

static void add_time(buf *ret, double seconds)
{
    if (seconds < 100)
        buf_addf(ret, "%.1f s", seconds);
    else
        buf_addf(ret, "%.0f min", seconds / 60);
}

/* --- training --- */

static void add_training(const json_t *live, bool runs, buf *ret)
{
    char text[256];
    progress_state p;
    if (!live_progress(live, runs, &p))
        return;
    progress_text(&p, text, sizeof text);
    buf_addf(ret, "  %s\n", text);
}

static void add_checkpoints(const json_t *job, const json_t *live, buf *ret)
{
    const json_t *steps = json_object_get(job, "checkpoints");
    size_t n = json_array_size(steps);
    buf_adds(ret, "  checkpoints");
    for (size_t i = 0; i < n; i++)
        buf_addf(ret, " %lld", (long long)json_integer_value(json_array_get(steps, i)));
    buf_adds(ret, n ? "" : " none");
    if (inspect_number(live, "best_step", -1) >= 0)
        buf_addf(ret, "  best %lld", inspect_int(live, "best_step"));
    if (inspect_true(live, "awaits_evaluation"))
        buf_adds(ret, "  an evaluation is awaited");
    buf_adds(ret, "\n");
}

/* Validation metrics of the newest epoch, or of the end. */
static void add_metrics(const json_t *job, buf *ret)
{
    json_t *metrics = json_object_get(job, "metrics"), *value;
    const char *key, prefix[] = "validation_";
    bool any = false;
    json_object_foreach(metrics, key, value)
    {
        if (strncmp(key, prefix, strlen(prefix)) != 0 || !json_is_number(value))
            continue;
        buf_addf(ret, any ? "  %s %.4g" : "  validation  %s %.4g", key + strlen(prefix), json_number_value(value));
        any = true;
    }
    buf_adds(ret, any ? "\n" : "");
}

/* --- tasks --- */

/* "0-3,7": the places of `list` for which `is_one` says so. */
typedef bool is_one_of(const json_t *item, const char *who);

static bool add_runs(const json_t *list, is_one_of *is_one, const char *who, buf *ret)
{
    bool any = false;
    size_t n = json_array_size(list);
    for (size_t i = 0, first; i < n; i++) {
        if (!is_one(json_array_get(list, i), who))
            continue;
        for (first = i; i + 1 < n && is_one(json_array_get(list, i + 1), who);)
            i++;
        buf_addf(ret, any ? ",%zu" : "%zu", first);
        if (i > first)
            buf_addf(ret, "-%zu", i);
        any = true;
    }
    return any;
}

static bool owns(const json_t *slot, const char *who)
{
    return strcmp(inspect_str(slot, "task"), who) == 0;
}

static bool hedges(const json_t *slot, const char *who)
{
    return owns(json_object_get(slot, "hedged_by"), who);
}

static void add_slots(const json_t *live, const char *who, buf *ret)
{
    const json_t *slots = json_object_get(live, "slots");
    buf mine = BUF_INIT, others = BUF_INIT;
    if (add_runs(slots, owns, who, &mine))
        buf_addf(ret, ", slots %s", mine.data);
    if (add_runs(slots, hedges, who, &others))
        buf_addf(ret, ", for others slots %s too", others.data);
    buf_fini(&others);
    buf_fini(&mine);
}

static void add_list(const char *before, const json_t *list, buf *ret)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_addf(ret, "%s%lld", i ? "," : before, (long long)json_integer_value(json_array_get(list, i)));
}

static void add_task(const json_t *o, buf *ret)
{
    double silent = inspect_number(o, "silent_s", NAN);
    buf_addf(ret, "  %-12s %-8s ", inspect_str(o, "task"), inspect_str(o, "state"));
    if (silent >= OLD_S) {
        buf_adds(ret, "silent for ");
        add_time(ret, silent);
        buf_adds(ret, ", ");
    }
}

static void add_server(const json_t *o, buf *ret)
{
    add_task(o, ret);
    buf_adds(ret, inspect_str(o, "endpoint"));
    add_list(", acts for shard ", json_object_get(o, "acts_for"), ret);
    add_list(", stands by for ", json_object_get(o, "stands_by_for"), ret);
    if (*inspect_str(o, "why"))
        buf_addf(ret, ": %s", inspect_str(o, "why"));
    buf_adds(ret, "\n");
}

static void add_worker(const json_t *live, const json_t *o, buf *ret)
{
    long long lanes = inspect_int(o, "lanes");
    add_task(o, ret);
    buf_addf(ret, "process %lld on %s, %lld lane%s", inspect_int(o, "pid"), inspect_str(o, "host"), lanes,
             lanes == 1 ? "" : "s");
    if (inspect_number(o, "computing", -1) >= 0)
        buf_addf(ret, ", computes step %lld", inspect_int(o, "computing"));
    add_slots(live, inspect_str(o, "task"), ret);
    buf_adds(ret, "\n");
}

static void add_evaluator(const json_t *o, buf *ret)
{
    add_task(o, ret);
    if (inspect_number(o, "evaluated", -1) >= 0)
        buf_addf(ret, "evaluated step %lld", inspect_int(o, "evaluated"));
    else
        buf_adds(ret, "has evaluated nothing yet");
    buf_adds(ret, "\n");
}

static void add_tasks(const json_t *live, buf *ret)
{
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(live, "servers"), i, o)
        add_server(o, ret);
    json_array_foreach(json_object_get(live, "workers"), i, o)
        add_worker(live, o, ret);
    if (json_object_get(live, "evaluator"))
        add_evaluator(json_object_get(live, "evaluator"), ret);
}

/* --- waits --- */

/* Of all tasks, in words. */
static void add_awaits(const json_t *awaits, const json_t *live, buf *ret)
{
    size_t i;
    json_t *one;
    json_array_foreach(awaits, i, one)
    {
        buf_addf(ret, "  %s waits for %s since ", inspect_str(one, "task"), inspect_str(one, "words"));
        add_time(ret, inspect_number(one, "since_s", 0));
        buf_adds(ret, "\n");
    }
    if (inspect_int(live, "awaits_left_out") > 0)
        buf_addf(ret, "  and so do %lld more\n", inspect_int(live, "awaits_left_out"));
}

/* As a master of an older version tells: its own. */
static void add_own_waits(const json_t *live, buf *ret)
{
    size_t i;
    json_t *text;
    json_array_foreach(json_object_get(live, "waits"), i, text)
        buf_addf(ret, "  waits %s\n", json_is_string(text) ? json_string_value(text) : "?");
}

static void add_waits(const json_t *live, buf *ret)
{
    const json_t *awaits = json_object_get(live, "awaits");
    if (awaits)
        add_awaits(awaits, live, ret);
    else
        add_own_waits(live, ret);
    if (json_object_get(live, "disk_s")) {
        buf_adds(ret, "  the job dir takes nothing since ");
        add_time(ret, inspect_number(live, "disk_s", 0));
        buf_addf(ret, ": %s\n", inspect_str(live, "disk"));
    }
}

static void add_warnings(const json_t *job, buf *ret)
{
    size_t i;
    json_t *line;
    json_array_foreach(json_object_get(job, "warnings"), i, line)
        buf_addf(ret, "%s  %s\n", i ? "" : "the master's last warnings\n",
                 json_is_string(line) ? json_string_value(line) : "?");
}

/* --- what happened --- */

/* As logs have it: of the day; with the date where that is another one than now. */
static void add_moment(double moment, double now, buf *ret)
{
    char text[32];
    struct tm then = {0}, today = {0};
    time_t at = moment >= 0 && moment < MOMENT_MOST ? (time_t)moment : 0, current = (time_t)now;
    localtime_r(&at, &then);
    localtime_r(&current, &today);
    bool is_today = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
    strftime(text, sizeof text, is_today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then);
    buf_adds(ret, text);
}

static void add_events(const json_t *job, double now, buf *ret)
{
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(job, "timeline"), i, event)
    {
        const char *task = inspect_str(event, "task");
        buf_adds(ret, i ? "  " : "what happened last\n  ");
        add_moment(inspect_number(event, "time", 0), now, ret);
        buf_addf(ret, *task ? " %s %s\n" : "%s %s\n", task, inspect_str(event, "text"));
    }
}

/* --- all of it --- */

static void add_head(const json_t *job, const json_t *live, buf *ret)
{
    const char *master = inspect_str(job, "master"), *end = inspect_str(job, "end");
    buf_addf(ret, "%s: %s", inspect_str(job, "dir"), inspect_str(job, "state"));
    if (*master)
        buf_addf(ret, ", master is process %s", master);
    buf_addf(ret, "\n  job %s, start %lld", inspect_str(job, "job_id"), inspect_int(job, "starts"));
    if (live && *master)
        buf_addf(ret, ", era %lld, phase %s", inspect_int(live, "era"), inspect_str(live, "phase"));
    buf_adds(ret, "\n");
    if (*end)
        buf_addf(ret, "  the last start ended: %s\n", end);
    if (*inspect_str(job, "live_trouble"))
        buf_addf(ret, "  what was told last cannot be read: %s\n", inspect_str(job, "live_trouble"));
}

/* What was told of a job that runs. */
static void add_life(const json_t *live, double now, buf *ret)
{
    if (strcmp(inspect_str(live, "phase"), "over") == 0) {
        buf_adds(ret, "  training is over; the results are written\n");
        return;
    }
    double age = now - inspect_number(live, "time", now);
    if (age > OLD_S) {
        buf_adds(ret, "  this was told ");
        add_time(ret, age);
        buf_adds(ret, " ago; nothing since: the master hangs, its host is cut off, or the job dir takes nothing\n");
    }
    add_waits(live, ret);
    add_tasks(live, ret);
}

void status_text(const json_t *job, const json_t *live, double now, buf *ret)
{
    bool runs = strcmp(inspect_str(job, "state"), "running") == 0;
    add_head(job, live, ret);
    if (live)
        add_training(live, runs, ret);
    add_metrics(job, ret);
    add_checkpoints(job, live, ret);
    if (runs && live)
        add_life(live, now, ret);
    else if (runs)
        buf_adds(ret, "  nothing is told of its tasks yet\n");
    add_events(job, now, ret);
    add_warnings(job, ret);
}
