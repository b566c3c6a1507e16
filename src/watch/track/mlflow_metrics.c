/* Lines of a job as metrics: training_NAME and validation_NAME, as metrics.json calls them, and facts of training under
 * their own names. */
#include "watch/track/mlflow_internal.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "watch/track/mlflow_words.h"

#include <stdlib.h>
#include <string.h>

/* Keys of a line that are no metrics of the model; some are curves by themselves. */
static const struct {
    const char *key;
    bool is_curve;
} facts[] = {
    {"step", false},    {"wall_s", false},  {"epochs_done", false},  {"final", false},     {"seconds", false},
    {"epoch", true},    {"examples", true}, {"learning_rate", true}, {"lost_slots", true}, {"examples_per_s", true},
};

static size_t which_fact(const char *key)
{
    size_t i = 0;
    while (i < COUNT_OF(facts) && strcmp(facts[i].key, key) != 0)
        i++;
    return i;
}

bool mlflow_is_fact(const char *key)
{
    return which_fact(key) < COUNT_OF(facts);
}

void mlflow_add_metric(json_t *list, const char *prefix, const char *name, const json_t *value, int64_t step,
                       int64_t time_ms)
{
    char key[MLFLOW_NAME];
    if (json_is_number(value))
        json_array_append_new(list, json_pack("{s:s, s:f, s:I, s:I}", "key", mlflow_name(prefix, name, key), "value",
                                              json_number_value(value), "timestamp", (json_int_t)time_ms, "step",
                                              (json_int_t)step));
}

static json_int_t step_at(const json_t *metrics, size_t i)
{
    return json_integer_value(json_object_get(json_array_get(metrics, i), "step"));
}

/* Where the call from `begin` on ends: between two lines, if the first one fits. */
static size_t end_of_call(const json_t *metrics, size_t begin)
{
    size_t n = json_array_size(metrics), most = begin + MLFLOW_BATCH, end = most;
    if (most >= n)
        return n;
    while (end > begin && step_at(metrics, end) == step_at(metrics, end - 1))
        end--;
    return end > begin ? end : most;
}

status mlflow_send_metrics(mlflow *m, json_t *metrics, error *err)
{
    status st = OK;
    for (size_t i = 0; st == OK && i < json_array_size(metrics);) {
        json_t *some = json_array();
        for (size_t end = end_of_call(metrics, i); i < end; i++)
            json_array_append(some, json_array_get(metrics, i));
        st = mlflow_post(&m->server, "runs/log-batch", json_pack("{s:s, s:o}", "run_id", m->run, "metrics", some), NULL,
                         NULL, err);
    }
    json_decref(metrics);
    return st;
}

/* --- the two files --- */

typedef int64_t line_time(const mlflow *m, const json_t *line);

static int64_t time_of_step(const mlflow *m, const json_t *line)
{
    return m->begun_ms + (int64_t)(json_number_value(json_object_get(line, "wall_s")) * 1000);
}

/* When the report was written. */
static int64_t time_of_evaluation(const mlflow *m, const json_t *line)
{
    char state[64];
    long long step = json_integer_value(json_object_get(line, "step"));
    char *name = xasprintf("eval/step-%09lld.json", step), *path = mlflow_file(m, name);
    int64_t ms = mlflow_file_state(path, state);
    free(path);
    free(name);
    return ms > m->begun_ms ? ms : m->begun_ms;
}

/* `last`: a curve that every line has, the last metric of each, so that a server that has it has the whole line. */
static const struct source {
    const char *file, *prefix, *last, *last_metric;
    bool has_facts, has_order;
    line_time *time;
} sources[] = {
    {"metrics.jsonl", "training_", "examples", "examples", true, true, time_of_step},
    /* the newest checkpoint first */
    {"eval/metrics.jsonl", "validation_", "loss", "validation_loss", false, false, time_of_evaluation},
};

static void add_line(const mlflow *m, const struct source *s, const json_t *line, json_t *ret)
{
    int64_t step = json_integer_value(json_object_get(line, "step")), ms = s->time(m, line);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)line, key, value)
    {
        size_t fact = which_fact(key);
        bool is_fact = fact < COUNT_OF(facts);
        if (strcmp(key, s->last) != 0 && (!is_fact || (s->has_facts && facts[fact].is_curve)))
            mlflow_add_metric(ret, is_fact ? "" : s->prefix, key, value, step, ms);
    }
    mlflow_add_metric(ret, "", s->last_metric, json_object_get(line, s->last), step, ms);
}

/* The metrics of lines that were not sent, as many as a call takes; their steps go into the ledger. *ret is the
 * caller's, *ret_goes_on: there may be more. */
static status gather(mlflow *m, const struct source *s, growth *g, json_t **ret, bool *ret_goes_on, error *err)
{
    enum { ENOUGH = MLFLOW_BATCH - 100 };
    json_t *metrics = json_array(), *line = NULL;
    status st = OK;
    do {
        st = growth_next(g, &line, err);
        int64_t step = json_integer_value(json_object_get(line, "step"));
        if (st == OK && line && !ledger_has_step(&m->out, s->file, s->has_order, step)) {
            add_line(m, s, line, metrics);
            ledger_add_step(&m->out, s->file, s->has_order, step);
        }
        *ret_goes_on = line != NULL;
        json_decref(line);
    } while (st == OK && *ret_goes_on && json_array_size(metrics) < ENOUGH);
    if (st == OK)
        *ret = metrics;
    else
        json_decref(metrics);
    return st;
}

/* Where a call fails the ledger is not kept, and all since the last one is sent again. */
static status send_lines(mlflow *m, const struct source *s, growth *g, int64_t *ret_sent, error *err)
{
    for (bool goes_on = true; goes_on;) {
        json_t *metrics = NULL;
        TRY(gather(m, s, g, &metrics, &goes_on, err));
        int64_t n = (int64_t)json_array_size(metrics);
        TRY(mlflow_send_metrics(m, metrics, err));
        *ret_sent += n;
        if (g->place.offset == ledger_place(&m->out, s->file).offset)
            continue;
        ledger_set_place(&m->out, s->file, g->place);
        TRY(ledger_save(&m->out, err));
    }
    return OK;
}

static status send_file(mlflow *m, const struct source *s, int64_t *ret_sent, error *err)
{
    char *path = mlflow_file(m, s->file);
    growth g;
    status st = growth_open(path, ledger_place(&m->out, s->file), &g, err);
    if (st == OK) {
        st = send_lines(m, s, &g, ret_sent, err);
        growth_close(&g);
    }
    free(path);
    return st;
}

static void note_known(mlflow *m, const char *key, int64_t step)
{
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        const struct source *s = &sources[i];
        if (strcmp(key, s->last_metric) == 0 && !ledger_has_step(&m->out, s->file, s->has_order, step))
            ledger_add_step(&m->out, s->file, s->has_order, step);
    }
}

/* A server may have taken what it never answered. Of lines in order the newest step that it has says up to where; of
 * others it is one that it has. Lines of those steps may have been written anew since, with other times. */
static status ask_what_is_known(mlflow *m, error *err)
{
    char *what = xasprintf("runs/get?run_id=%s", m->run);
    json_t *known = NULL, *one;
    size_t i;
    status st = mlflow_get(&m->server, what, &known, NULL, err);
    free(what);
    TRY(st);
    json_array_foreach(json_object_get(json_object_get(json_object_get(known, "run"), "data"), "metrics"), i, one)
    {
        const char *key = json_string_value(json_object_get(one, "key"));
        if (key)
            note_known(m, key, mlflow_integer(json_object_get(one, "step")));
    }
    json_decref(known);
    m->is_sure = true;
    return OK;
}

status mlflow_send_lines(mlflow *m, int64_t *ret_sent, error *err)
{
    if (!m->is_sure)
        TRY(ask_what_is_known(m, err));
    for (size_t i = 0; i < COUNT_OF(sources); i++)
        TRY(send_file(m, &sources[i], ret_sent, err));
    return OK;
}
