#include "cli/inspect/curves_csv.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "watch/track/growth.h"

#include <stdlib.h>
#include <string.h>

/* --- rows --- */

/* What a key of a line is called; *ret is NULL of one that is left out. */
static void column_of(const char *key, bool is_evaluation, char **ret)
{
    static const char *const facts[] = {"step",   "epoch",    "learning_rate", "examples_per_s",
                                        "wall_s", "examples", "lost_slots"};
    static const char *const left_out[] = {"step", "epochs_done", "final", "seconds", "examples"};
    bool is_fact = false, is_left_out = false;
    for (size_t i = 0; !is_evaluation && i < COUNT_OF(facts); i++)
        is_fact |= strcmp(key, facts[i]) == 0;
    for (size_t i = 0; is_evaluation && i < COUNT_OF(left_out); i++)
        is_left_out |= strcmp(key, left_out[i]) == 0;
    *ret = is_left_out ? NULL
           : is_fact   ? xstrdup(key)
                       : xasprintf("%s_%s", is_evaluation ? "validation" : "training", key);
}

/* The numbers of a line, by column. */
static void add_line(json_t *row, const json_t *line, bool is_evaluation)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)line, key, value)
    {
        char *column = NULL;
        if (json_is_number(value))
            column_of(key, is_evaluation, &column);
        if (column)
            json_object_set(row, column, value);
        free(column);
    }
}

static int64_t step_of(const json_t *line)
{
    return json_integer_value(json_object_get(line, "step"));
}

static int by_step(const void *a, const void *b)
{
    int64_t x = step_of(*(json_t *const *)a), y = step_of(*(json_t *const *)b);
    return x < y ? -1 : x > y;
}

/* --- the two files --- */

typedef status take_row(void *user, json_t *row, error *err);

typedef struct evaluations {
    json_t **at;        /* rows, by step */
    size_t n, room, next;
} evaluations;

static void add_evaluation(evaluations *e, const json_t *line)
{
    json_t *row = json_pack("{s:I}", "step", (json_int_t)step_of(line));
    add_line(row, line, true);
    if (e->n == e->room) {
        e->room = 2 * e->room + 16;
        e->at = xrealloc(e->at, e->room * sizeof *e->at);
    }
    e->at[e->n++] = row;
}

/* Few beside the lines of training, and not always in their order. */
static status read_evaluations(const char *dir, evaluations *ret, error *err)
{
    char *path = xasprintf("%s/eval/metrics.jsonl", dir);
    growth g;
    json_t *line;
    status st = growth_open(path, GROWTH_BEGINNING, &g, err);
    if (st == OK) {
        while ((st = growth_next(&g, &line, err)) == OK && line) {
            add_evaluation(ret, line);
            json_decref(line);
        }
        growth_close(&g);
    }
    free(path);
    if (ret->n)
        qsort(ret->at, ret->n, sizeof *ret->at, by_step);
    return st;
}

/* Evaluations of steps before `step` have rows of their own; one of that step joins `row`. */
static status take_evaluations(evaluations *e, int64_t step, json_t *row, take_row *take, void *user, error *err)
{
    status st = OK;
    for (; st == OK && e->next < e->n && step_of(e->at[e->next]) <= step; e->next++)
        if (row && step_of(e->at[e->next]) == step)
            json_object_update_missing(row, e->at[e->next]);
        else
            st = take(user, e->at[e->next], err);
    return st;
}

static status take_lines(growth *g, evaluations *e, take_row *take, void *user, error *err)
{
    json_t *line;
    for (;;) {
        TRY(growth_next(g, &line, err));
        if (!line)
            return take_evaluations(e, INT64_MAX, NULL, take, user, err);
        json_t *row = json_object();
        add_line(row, line, false);
        status st = take_evaluations(e, step_of(line), row, take, user, err);
        if (st == OK)
            st = take(user, row, err);
        json_decref(row);
        json_decref(line);
        TRY(st);
    }
}

static status each_row(const char *dir, evaluations *e, take_row *take, void *user, error *err)
{
    char *path = xasprintf("%s/metrics.jsonl", dir);
    growth g;
    e->next = 0;
    status st = growth_open(path, GROWTH_BEGINNING, &g, err);
    if (st == OK) {
        st = take_lines(&g, e, take, user, err);
        growth_close(&g);
    }
    free(path);
    return st;
}

/* --- the table --- */

typedef struct table {
    json_t *columns;    /* an object, whose keys they are */
    FILE *to;
} table;

static status note_columns(void *user, json_t *row, error *err)
{
    table *t = user;
    (void)err;
    json_object_update_missing(t->columns, row);
    return OK;
}

static void print_name(FILE *to, const char *name)
{
    if (!strpbrk(name, ",\"\n\r")) {
        fputs(name, to);
        return;
    }
    fputc('"', to);
    for (; *name; name++)
        fprintf(to, *name == '"' ? "\"\"" : "%c", *name);
    fputc('"', to);
}

static status print_row(void *user, json_t *row, error *err)
{
    table *t = user;
    const char *name, *comma = "";
    json_t *any;
    (void)err;
    json_object_foreach(t->columns, name, any)
    {
        const json_t *value = json_object_get(row, name);
        char *text = value ? json_text(value) : NULL;
        fprintf(t->to, "%s%s", comma, text ? text : "");
        free(text);
        comma = ",";
    }
    fputc('\n', t->to);
    return OK;
}

static void print_head(const table *t)
{
    const char *name, *comma = "";
    json_t *any;
    json_object_foreach(t->columns, name, any)
    {
        fputs(comma, t->to);
        print_name(t->to, name);
        comma = ",";
    }
    fputc('\n', t->to);
}

static status check_is_job(const char *dir, error *err)
{
    char *path = xasprintf("%s/job.json", dir);
    bool is_job = fs_exists(path);
    free(path);
    return is_job ? OK : FAIL(err, E_DATA, "'%s' is no job dir: it has no job.json", dir);
}

status curves_csv_write(const char *dir, FILE *to, error *err)
{
    evaluations e = {0};
    table t = {.columns = json_pack("{s:n}", "step"), .to = to};
    status st = check_is_job(dir, err);
    if (st == OK)
        st = read_evaluations(dir, &e, err);
    if (st == OK)
        st = each_row(dir, &e, note_columns, &t, err);
    if (st == OK) {
        print_head(&t);
        st = each_row(dir, &e, print_row, &t, err);
    }
    for (size_t i = 0; i < e.n; i++)
        json_decref(e.at[i]);
    free(e.at);
    json_decref(t.columns);
    return st;
}
