/* Profiles (docs/PROFILE.md): of the nodes those that took longest, and how tasks spent their time. */
#include "cli/inspect/kinds.h"
#include "cli/inspect/text.h"

#include "common/base/alloc.h"
#include "common/base/json.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_SHOWN = 20 };

/* Seconds of a task, by kind of event, as the report names them. */
static const struct {
    const char *kind, *key, *title;
} spent[] = {
    {"SLOT", "slots_s", "slots"},
    {"DEVICE_NODE", "device_s", "on device"},
    {"WAIT_PART", "parts_s", "for parts"},
    {"WAIT_SCALE", "scale_s", "for scale"},
    {"LOAD", "examples_s", "for examples"},
    {"IDLE", "idle_s", "idle"},
    {"UPDATE", "updates_s", "updates"},
};

static void add_time(json_t *o, const char *key, double seconds)
{
    json_object_set_new(o, key, json_real(json_number_value(json_object_get(o, key)) + seconds));
}

static void count_node(json_t *nodes, const char *name, double seconds)
{
    json_t *row = json_object_get(nodes, name);
    if (!row) {
        row = json_pack("{s:s, s:i}", "node", name, "times", 0);
        if (!row || json_object_set_new(nodes, name, row) != 0)
            return;
    }
    json_object_set_new(row, "times", json_integer(inspect_int(row, "times") + 1));
    add_time(row, "seconds", seconds);
}

/* An event that took time: what is no such event is passed over, as others may write such files. */
static void count_event(const json_t *event, json_t *nodes, json_t *by_pid)
{
    const json_t *args = json_object_get(event, "args");
    double seconds = json_number_value(json_object_get(event, "dur")) * 1e-6;
    char pid[32];
    snprintf(pid, sizeof pid, "%lld", inspect_int(event, "pid"));
    json_t *task = json_object_get(by_pid, pid);
    if (strcmp(inspect_str(event, "ph"), "X") != 0 || !task)
        return;
    if (strcmp(inspect_str(args, "kind"), "NODE") == 0 || strcmp(inspect_str(args, "kind"), "DEVICE_NODE") == 0)
        count_node(nodes, inspect_str(event, "name"), seconds);
    for (size_t i = 0; i < COUNT_OF(spent); i++)
        if (strcmp(inspect_str(args, "kind"), spent[i].kind) == 0)
            add_time(task, spent[i].key, seconds);
}

/* Rows of tasks, in the order in which they are named; what is known of them beside. */
static json_t *rows_of_tasks(const json_t *events, const json_t *about, json_t *ret_by_pid)
{
    json_t *rows = json_array(), *event, *one;
    size_t i, k;
    json_array_foreach(events, i, event) {
        char pid[32];
        if (strcmp(inspect_str(event, "name"), "process_name") != 0)
            continue;
        snprintf(pid, sizeof pid, "%lld", inspect_int(event, "pid"));
        json_t *row = json_pack("{s:s}", "task", inspect_str(json_object_get(event, "args"), "name"));
        json_array_foreach(json_object_get(about, "tasks"), k, one)
            if (strcmp(inspect_str(one, "task"), inspect_str(row, "task")) == 0)
                json_object_update_missing(row, one);
        json_object_set(ret_by_pid, pid, row);
        json_array_append_new(rows, row);
    }
    return rows;
}

static int by_time(const void *a, const void *b)
{
    double x = json_number_value(json_object_get(*(json_t *const *)a, "seconds"));
    double y = json_number_value(json_object_get(*(json_t *const *)b, "seconds"));
    return (x < y) - (x > y);
}

/* Those that took longest; *ret_all: what all took. */
static json_t *longest_nodes(json_t *nodes, double *ret_all)
{
    const char *name;
    json_t *row, *rows = json_array();
    size_t n = 0;
    json_t **sorted = xcalloc(json_object_size(nodes) + 1, sizeof *sorted);
    json_object_foreach(nodes, name, row) {
        sorted[n++] = row;
        *ret_all += json_number_value(json_object_get(row, "seconds"));
    }
    qsort(sorted, n, sizeof *sorted, by_time);
    for (size_t i = 0; i < n && i < NODES_SHOWN; i++)
        json_array_append(rows, sorted[i]);
    free(sorted);
    return rows;
}

static json_t *trace_report(const char *path, const json_t *whole)
{
    const json_t *about = json_object_get(whole, "otherData"), *events = json_object_get(whole, "traceEvents");
    json_t *by_pid = json_object(), *nodes = json_object(), *event, *missing = json_object_get(about, "missing");
    json_t *tasks = rows_of_tasks(events, about, by_pid);
    double all_s = 0;
    size_t i;
    json_array_foreach(events, i, event) count_event(event, nodes, by_pid);
    json_t *rows = longest_nodes(nodes, &all_s);
    json_t *report = json_pack("{s:s, s:o, s:I, s:I, s:I, s:f, s:o, s:o, s:O?}", "kind", "trace", "file",
                               json_words(path), "begin", inspect_int(about, "begin"), "end",
                               inspect_int(about, "end"), "events", (json_int_t)json_array_size(events),
                               "nodes_s", all_s, "nodes", rows, "tasks", tasks, "missing", missing);
    json_decref(by_pid);
    json_decref(nodes);
    return report;
}

status inspect_look_trace(const char *path, json_t **ret, error *err)
{
    json_error_t where;
    json_t *whole = json_load_file(path, 0, &where);
    if (!whole)
        return FAIL(err, E_DATA, "'%s': line %d: %s", path, where.line, where.text);
    bool is_ours = json_is_array(json_object_get(whole, "traceEvents")) &&
                   inspect_int(json_object_get(whole, "otherData"), "schema") == 1;
    *ret = is_ours ? trace_report(path, whole) : NULL;
    json_decref(whole);
    if (!*ret)
        return FAIL(err, E_DATA, "'%s' is no profile of tequio's: traceEvents, or otherData with schema 1, are missing",
                    path);
    return OK;
}

/* "12.3 ms"; "-": nothing. */
static void time_cell(inspect_table *t, const json_t *seconds)
{
    double s = json_number_value(seconds);
    if (s <= 0)
        inspect_table_cell(t, "-");
    else if (s < 1)
        inspect_table_cell(t, "%.3g ms", s * 1e3);
    else
        inspect_table_cell(t, "%.4g s", s);
}

static void print_nodes(const json_t *report, buf *ret)
{
    inspect_table t = {.columns = 4};
    double all_s = json_number_value(json_object_get(report, "nodes_s"));
    json_t *row;
    size_t i;
    static const char *const titles[] = {"node", "time", "share", "times"};
    for (i = 0; i < COUNT_OF(titles); i++)
        inspect_table_cell(&t, "%s", titles[i]);
    json_array_foreach(json_object_get(report, "nodes"), i, row) {
        inspect_table_cell(&t, "%s", inspect_str(row, "node"));
        time_cell(&t, json_object_get(row, "seconds"));
        double share = all_s > 0 ? json_number_value(json_object_get(row, "seconds")) / all_s : 0;
        inspect_table_cell(&t, "%.1f %%", 100 * share);
        inspect_table_number(&t, json_object_get(row, "times"));
    }
    inspect_table_flush(&t, ret);
}

static void print_tasks(const json_t *report, buf *ret)
{
    inspect_table t = {.columns = COUNT_OF(spent) + 2};
    json_t *row;
    size_t i;
    inspect_table_cell(&t, "task");
    for (i = 0; i < COUNT_OF(spent); i++)
        inspect_table_cell(&t, "%s", spent[i].title);
    inspect_table_cell(&t, "clock");
    json_array_foreach(json_object_get(report, "tasks"), i, row) {
        inspect_table_cell(&t, "%s", inspect_str(row, "task"));
        for (size_t k = 0; k < COUNT_OF(spent); k++)
            time_cell(&t, json_object_get(row, spent[k].key));
        long long error_us = inspect_int(row, "clock_error_us");
        inspect_table_cell(&t, error_us < 0 ? "?" : "+-%lld us", error_us);
    }
    inspect_table_flush(&t, ret);
}

void inspect_print_trace(const json_t *report, buf *ret)
{
    json_t *row;
    size_t i;
    buf_addf(ret, "%s: profile of steps %lld to %lld, %lld events\n\n", inspect_str(report, "file"),
             inspect_int(report, "begin"), inspect_int(report, "end") - 1, inspect_int(report, "events"));
    print_tasks(report, ret);
    json_array_foreach(json_object_get(report, "missing"), i, row)
        buf_addf(ret, "%s is missing: %s\n", inspect_str(row, "task"), inspect_str(row, "why"));
    if (!json_array_size(json_object_get(report, "nodes")))
        return;
    buf_adds(ret, "\n");
    print_nodes(report, ret);
}
