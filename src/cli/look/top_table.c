#include "cli/look/top_table.h"

#include "cli/inspect/text.h"
#include "cli/look/live_progress.h"
#include "common/base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAITS = 3 };

/* Of a master that lives: it tells every two seconds. */
#define OLD_S 10.0
/* Tasks tell once a second at most: moments that are nearer are one, worked out of the master's time twice. */
#define SAME_S 0.1

/* What a task had said of itself at a moment, and what came of the two last ones. */
typedef struct history {
    char *name;                 /* of job and task */
    double time, cpu, rate, waiting;
    double cpu_share, rate_s, waiting_share; /* NaN: only one is known */
} history;

struct top_table {
    history *at;
    size_t n, cap;
};

/* A row of the table. */
typedef struct row {
    const json_t *task;
    const char *name, *state;
    double cpu, memory, rate, waiting;  /* NaN: not known */
    const char *unit;                   /* of the rate */
    buf does;
} row;

static const char *const order_names[] = {"name", "cpu", "memory", "rate", "waiting"};

const char *top_order_name(top_order o)
{
    return order_names[o];
}

/* --- lines --- */

void top_lines_add(top_lines *l, top_style style, const char *text)
{
    GROW(l->at, l->cap, l->n + 1);
    l->at[l->n++] = (top_line){.text = xstrdup(text), .style = style};
}

void top_lines_fini(top_lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i].text);
    free(l->at);
    *l = (top_lines){0};
}

static void add_taken(top_lines *l, top_style style, buf *text)
{
    top_lines_add(l, style, text->data ? text->data : "");
    buf_fini(text);
}

/* --- figures --- */

static history *history_of(top_table *t, const char *job, const char *task)
{
    char *name = xasprintf("%s %s", job, task);
    for (size_t i = 0; i < t->n; i++) {
        if (strcmp(t->at[i].name, name) != 0)
            continue;
        free(name);
        return &t->at[i];
    }
    GROW(t->at, t->cap, t->n + 1);
    t->at[t->n] = (history){.name = name, .time = NAN, .cpu_share = NAN, .rate_s = NAN, .waiting_share = NAN};
    return &t->at[t->n++];
}

/* A second's share of what grew from one look to the next; one that began anew has none. */
static double per_second(double before, double now, double seconds)
{
    return now >= before ? (now - before) / seconds : NAN;
}

/* `moment` is when it said so. */
static void take_figures(history *h, double moment, double cpu, double rate, double waiting)
{
    double seconds = moment - h->time;
    if (fabs(seconds) < SAME_S)
        return; /* nothing new was told */
    h->cpu_share = seconds > 0 ? per_second(h->cpu, cpu, seconds) : NAN;
    h->rate_s = seconds > 0 ? per_second(h->rate, rate, seconds) : NAN;
    h->waiting_share = seconds > 0 ? per_second(h->waiting, waiting, seconds) : NAN;
    h->time = moment;
    h->cpu = cpu;
    h->rate = rate;
    h->waiting = waiting;
}

/* Lanes that have no slot, or wait for weights or for examples. */
static double waiting_seconds(const json_t *figures)
{
    return inspect_number(figures, "tequio_worker_waiting_seconds_total", NAN) +
           inspect_number(figures, "tequio_worker_loading_seconds_total", 0) +
           inspect_number(figures, "tequio_worker_idle_seconds_total", 0);
}

static void fill_figures(top_table *t, const char *job, double told, row *r)
{
    const json_t *figures = json_object_get(r->task, "figures");
    bool is_worker = json_object_get(figures, "tequio_worker_examples_total");
    bool is_server = json_object_get(figures, "tequio_ps_updates_total");
    const char *key = is_worker ? "tequio_worker_examples_total"
                      : is_server ? "tequio_ps_updates_total" : "tequio_master_reports_total";
    history *h = history_of(t, job, r->name);
    r->cpu = r->rate = r->waiting = NAN;
    r->memory = inspect_number(figures, "process_resident_memory_bytes", NAN);
    r->unit = is_worker ? "examples" : is_server ? "updates" : "reports";
    if (!figures)
        return;
    double told_s = inspect_number(r->task, "told_s", 0), lanes = inspect_number(r->task, "lanes", 1);
    take_figures(h, told - told_s, inspect_number(figures, "process_cpu_seconds_total", NAN),
                 inspect_number(figures, key, NAN), waiting_seconds(figures));
    r->cpu = h->cpu_share;
    r->rate = h->rate_s;
    r->waiting = lanes > 0 ? h->waiting_share / lanes : NAN;
}

/* --- what a task does --- */

/* The longest wait of this task that is worth telling. */
static const json_t *wait_of(const json_t *live, const char *task)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(live, "awaits"), i, one)
        if (strcmp(inspect_str(one, "task"), task) == 0 && !inspect_true(one, "usual"))
            return one;
    return NULL;
}

static void add_shards(const char *before, const json_t *list, buf *ret)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_addf(ret, "%s%lld", i ? "," : before, (long long)json_integer_value(json_array_get(list, i)));
}

static void fill_does(const json_t *live, row *r)
{
    const json_t *wait = wait_of(live, r->name);
    double silent = inspect_number(r->task, "silent_s", NAN);
    buf_adds(&r->does, "");
    if (silent >= OLD_S)
        buf_addf(&r->does, "silent for %.0f s  ", silent);
    if (wait) {
        buf_addf(&r->does, "waits %.1f s: %s", inspect_number(wait, "since_s", 0), inspect_str(wait, "words"));
        return;
    }
    if (inspect_number(r->task, "computing", -1) >= 0)
        buf_addf(&r->does, "step %lld", inspect_int(r->task, "computing"));
    if (inspect_number(r->task, "evaluated", -1) >= 0)
        buf_addf(&r->does, "evaluated step %lld", inspect_int(r->task, "evaluated"));
    else if (json_object_get(r->task, "evaluated"))
        buf_adds(&r->does, "has evaluated nothing yet");
    add_shards("acts for shard ", json_object_get(r->task, "acts_for"), &r->does);
    add_shards(r->does.size ? ", stands by for " : "stands by for ", json_object_get(r->task, "stands_by_for"),
               &r->does);
    if (*inspect_str(r->task, "why"))
        buf_addf(&r->does, ": %s", inspect_str(r->task, "why"));
}

/* --- rows --- */

static double value_of(const row *r, top_order order)
{
    double value = order == TOP_BY_CPU ? r->cpu
                   : order == TOP_BY_MEMORY ? r->memory
                   : order == TOP_BY_RATE ? r->rate : r->waiting;
    return isnan(value) ? -1 : value;
}

static top_order compared_by; /* qsort takes no more */

static int by_order(const void *a, const void *b)
{
    const row *one = a, *other = b;
    double x = value_of(one, compared_by), y = value_of(other, compared_by);
    if (compared_by != TOP_BY_NAME && x != y)
        return x < y ? 1 : -1;
    return strverscmp(one->name, other->name);
}

static void add_number(double value, const char *format, int columns, buf *ret)
{
    char text[32] = "-";
    if (!isnan(value))
        snprintf(text, sizeof text, format, value);
    buf_addf(ret, "  %*s", columns, text);
}

static void add_bytes(double bytes, buf *ret)
{
    buf text = BUF_INIT;
    if (!isnan(bytes))
        inspect_add_bytes(&text, bytes);
    buf_addf(ret, "  %10s", text.data ? text.data : "-");
    buf_fini(&text);
}

static top_style style_of(const row *r)
{
    static const char *const bad[] = {"gone", "hangs", "refused"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (strcmp(r->state, bad[i]) == 0)
            return TOP_BAD;
    return !*r->state || strcmp(r->state, "at work") == 0 ? TOP_PLAIN : TOP_WARN;
}

static void add_row(const row *r, top_lines *ret)
{
    buf text = BUF_INIT;
    buf_addf(&text, "  %-14s %-8s", r->name, r->state);
    add_number(100 * r->cpu, "%.0f", 5, &text);
    add_bytes(r->memory, &text);
    add_number(r->rate, "%.1f", 8, &text);
    buf_addf(&text, " %-10s", isnan(r->rate) ? "" : r->unit);
    add_number(100 * r->waiting, "%.0f", 5, &text);
    buf_addf(&text, "  %s  %s", *inspect_str(r->task, "host") ? inspect_str(r->task, "host") : "-", r->does.data);
    add_taken(ret, style_of(r), &text);
}

static size_t take_rows(top_table *t, const char *dir, const json_t *live, row **ret)
{
    static const char *const lists[] = {"servers", "workers"}, *const single[] = {"master", "evaluator"};
    size_t n = 0, i;
    row *rows = xcalloc(json_array_size(json_object_get(live, "servers")) +
                            json_array_size(json_object_get(live, "workers")) + COUNT_OF(single),
                        sizeof *rows);
    for (size_t k = 0; k < COUNT_OF(single); k++)
        if (json_object_get(live, single[k]))
            rows[n++].task = json_object_get(live, single[k]);
    for (size_t k = 0; k < COUNT_OF(lists); k++) {
        json_t *o;
        json_array_foreach(json_object_get(live, lists[k]), i, o)
            rows[n++].task = o;
    }
    for (i = 0; i < n; i++) {
        rows[i].name = inspect_str(rows[i].task, "task");
        rows[i].state = inspect_str(rows[i].task, "state");
        fill_figures(t, dir, inspect_number(live, "time", 0), &rows[i]);
        fill_does(live, &rows[i]);
    }
    *ret = rows;
    return n;
}

static void add_tasks(top_table *t, const char *dir, const json_t *live, top_order order, top_lines *ret)
{
    row *rows = NULL;
    size_t n = take_rows(t, dir, live, &rows);
    compared_by = order;
    qsort(rows, n, sizeof *rows, by_order);
    if (n)
        top_lines_add(ret, TOP_HEAD,
                      "  TASK           STATE      CPU%      MEMORY   A SECOND             WAIT%  HOST  DOES");
    for (size_t i = 0; i < n; i++) {
        add_row(&rows[i], ret);
        buf_fini(&rows[i].does);
    }
    free(rows);
}

/* --- a job --- */

/* A line has no room for all. */
static void add_progress(const json_t *live, bool runs, buf *ret)
{
    char text[256];
    progress_state p;
    if (!live_progress(live, runs, &p))
        return;
    p.rate = NAN;
    progress_text(&p, text, sizeof text);
    buf_addf(ret, "  %s", text);
}

static void add_waits(const json_t *live, double now, top_lines *ret)
{
    const json_t *waits = json_object_get(live, "waits");
    double age = now - inspect_number(live, "time", now);
    buf text = BUF_INIT;
    if (age > OLD_S) {
        buf_addf(&text, "  this was told %.0f s ago; nothing since", age);
        add_taken(ret, TOP_BAD, &text);
    }
    for (size_t i = 0; i < json_array_size(waits) && i < WAITS; i++) {
        const char *words = json_string_value(json_array_get(waits, i));
        buf_addf(&text, "  waits %s", words ? words : "?");
        add_taken(ret, TOP_WARN, &text);
    }
}

static void add_job(top_table *t, const json_t *one, top_order order, double now, top_lines *ret)
{
    const json_t *job = json_object_get(one, "job"), *live = json_object_get(one, "live");
    const char *dir = inspect_str(job, "dir"), *state = inspect_str(job, "state");
    bool runs = strcmp(state, "running") == 0;
    buf text = BUF_INIT;
    buf_addf(&text, "%s: %s", dir, state);
    add_progress(live, runs, &text);
    add_taken(ret, strcmp(state, "failed") == 0 ? TOP_BAD : TOP_JOB, &text);
    if (!runs)
        return;
    if (*inspect_str(job, "live_trouble")) {
        buf_addf(&text, "  what was told last cannot be read: %s", inspect_str(job, "live_trouble"));
        add_taken(ret, TOP_BAD, &text);
    } else if (!live) {
        top_lines_add(ret, TOP_PLAIN, "  nothing is told of its tasks yet");
    }
    add_waits(live, now, ret);
    add_tasks(t, dir, live, order, ret);
}

/* --- all --- */

top_table *top_table_new(void)
{
    return xcalloc(1, sizeof(top_table));
}

void top_table_free(top_table **t)
{
    if (!*t)
        return;
    for (size_t i = 0; i < (*t)->n; i++)
        free((*t)->at[i].name);
    free((*t)->at);
    free(*t);
    *t = NULL;
}

void top_table_lines(top_table *t, const char *place, const json_t *jobs, const char *trouble, top_order order,
                     double now, top_lines *ret)
{
    size_t i;
    json_t *one;
    buf text = BUF_INIT;
    json_array_foreach(jobs, i, one)
        add_job(t, one, order, now, ret);
    if (jobs)
        return;
    buf_addf(&text, "%s: %s", place, trouble ? trouble : "it is being looked at");
    add_taken(ret, trouble ? TOP_BAD : TOP_PLAIN, &text);
}
