#include "cli/tune/hparams.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/store/events_hparams.h"
#include "proto/hparams.pb-c.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef Tequio__Hparams__Value Value;

static const char objective_tag[] = "objective";

/* A parameter of words is a string, also where they are numbers; all others are numbers. */
static Value value_of(const space_parameter *p, double at)
{
    Value v = TEQUIO__HPARAMS__VALUE__INIT;
    if (p->kind == SPACE_CATEGORICAL) {
        v.kind_case = TEQUIO__HPARAMS__VALUE__KIND_STRING_VALUE;
        v.string_value = (char *)(uintptr_t)p->words[(int)at];
    } else {
        v.kind_case = TEQUIO__HPARAMS__VALUE__KIND_NUMBER_VALUE;
        v.number_value = p->kind == SPACE_DISCRETE ? p->numbers[(int)at] : at;
    }
    return v;
}

/* --- what is searched --- */

typedef struct parameter_info {
    Tequio__Hparams__HParamInfo info;
    Tequio__Hparams__Interval interval;
    Tequio__Hparams__ListValue list;
    Value *values;
    Value **at;
} parameter_info;

static void describe_parameter(const space_parameter *p, parameter_info *ret)
{
    tequio__hparams__hparam_info__init(&ret->info);
    tequio__hparams__interval__init(&ret->interval);
    tequio__hparams__list_value__init(&ret->list);
    ret->info.name = (char *)(uintptr_t)p->name;
    ret->info.type = p->kind == SPACE_CATEGORICAL ? TEQUIO__HPARAMS__DATA_TYPE__DATA_TYPE_STRING
                                                  : TEQUIO__HPARAMS__DATA_TYPE__DATA_TYPE_FLOAT64;
    ret->info.domain_case = TEQUIO__HPARAMS__HPARAM_INFO__DOMAIN_DOMAIN_INTERVAL;
    ret->info.domain_interval = &ret->interval;
    ret->interval.min_value = p->min;
    ret->interval.max_value = p->max;
    if (!p->n)
        return;
    ret->values = xcalloc((size_t)p->n, sizeof *ret->values);
    ret->at = xcalloc((size_t)p->n, sizeof *ret->at);
    for (int i = 0; i < p->n; i++) {
        ret->values[i] = value_of(p, i);
        ret->at[i] = &ret->values[i];
    }
    ret->list.n_values = (size_t)p->n;
    ret->list.values = ret->at;
    ret->info.domain_case = TEQUIO__HPARAMS__HPARAM_INFO__DOMAIN_DOMAIN_DISCRETE;
    ret->info.domain_discrete = &ret->list;
}

static void add_experiment(events *e, const space *s, const char *metric)
{
    enum { METRICS = 2 };
    const char *tags[METRICS] = {objective_tag, metric};
    Tequio__Hparams__MetricInfo infos[METRICS], *metrics[METRICS];
    Tequio__Hparams__MetricName names[METRICS];
    parameter_info *parameters = xcalloc((size_t)s->n, sizeof *parameters);
    Tequio__Hparams__HParamInfo **hparams = xcalloc((size_t)s->n, sizeof(Tequio__Hparams__HParamInfo *));
    for (int i = 0; i < METRICS; i++) {
        tequio__hparams__metric_info__init(&infos[i]);
        tequio__hparams__metric_name__init(&names[i]);
        names[i].tag = (char *)(uintptr_t)tags[i];
        infos[i].name = &names[i];
        metrics[i] = &infos[i];
    }
    for (int i = 0; i < s->n; i++) {
        describe_parameter(&s->at[i], &parameters[i]);
        hparams[i] = &parameters[i].info;
    }
    Tequio__Hparams__Experiment experiment = TEQUIO__HPARAMS__EXPERIMENT__INIT;
    experiment.n_hparam_infos = (size_t)s->n;
    experiment.hparam_infos = hparams;
    experiment.n_metric_infos = METRICS;
    experiment.metric_infos = metrics;
    Tequio__Hparams__HParamsPluginData data = TEQUIO__HPARAMS__HPARAMS_PLUGIN_DATA__INIT;
    data.data_case = TEQUIO__HPARAMS__HPARAMS_PLUGIN_DATA__DATA_EXPERIMENT;
    data.experiment = &experiment;
    size_t bytes = tequio__hparams__hparams_plugin_data__get_packed_size(&data);
    unsigned char *content = xmalloc(bytes + 1);
    tequio__hparams__hparams_plugin_data__pack(&data, content);
    events_plugin_data(e, "_hparams_/experiment", "hparams", content, bytes);
    free(content);
    for (int i = 0; i < s->n; i++) {
        free(parameters[i].values);
        free(parameters[i].at);
    }
    free(hparams);
    free(parameters);
}

/* --- a trial --- */

static void add_values(events *e, const space *s, const trial *t)
{
    events_hparam values[SPACE_PARAMETERS_MOST];
    for (int i = 0; i < s->n; i++) {
        Value v = value_of(&s->at[i], t->point[i]);
        bool is_word = v.kind_case == TEQUIO__HPARAMS__VALUE__KIND_STRING_VALUE;
        values[i] = (events_hparam){.name = s->at[i].name,
                                    .word = is_word ? v.string_value : NULL,
                                    .number = is_word ? 0 : v.number_value};
    }
    events_hparams_begin(e, values, (size_t)s->n);
}

static void add_end(events *e, const trial *t)
{
    static const events_session of_state[TRIAL_STATES] = {
        [TRIAL_RUNNING] = EVENTS_SESSION_RUNNING, [TRIAL_PAUSED] = EVENTS_SESSION_RUNNING,
        [TRIAL_COMPLETE] = EVENTS_SESSION_DONE,   [TRIAL_STOPPED] = EVENTS_SESSION_DONE,
        [TRIAL_FAILED] = EVENTS_SESSION_FAILED,
    };
    events_hparams_end(e, of_state[t->state]);
}

static void add_trial(events *e, const study *s, const trial *t, const char *metric)
{
    add_values(e, s->space, t);
    for (int i = 0; i < t->n_evaluations; i++)
        events_scalar(e, t->evaluations[i].steps, metric, (float)t->evaluations[i].objective);
    if (isfinite(t->objective))
        events_scalar(e, t->steps, objective_tag, (float)t->objective);
    add_end(e, t);
}

/* --- files --- */

/* Event files that were there before a new one. */
static status remove_files(const char *dir, char *const *names, size_t n, error *err)
{
    for (size_t i = 0; i < n; i++) {
        char *path = xasprintf("%s/%s", dir, names[i]);
        status st = strncmp(names[i], "events.", strlen("events.")) == 0 ? fs_remove_tree(path, err) : OK;
        free(path);
        TRY(st);
    }
    return OK;
}

/* `t` NULL: the experiment. */
static status replace_file(const study *s, const trial *t, const char *dir, const char *metric, error *err)
{
    char **names = NULL;
    size_t n = 0;
    events *e = NULL;
    status st = fs_mkdirs(dir, err);
    if (st == OK)
        st = fs_list(dir, &names, &n, err);
    if (st == OK)
        st = events_open(dir, &e, err);
    if (st == OK && t)
        add_trial(e, s, t, metric);
    else if (st == OK)
        add_experiment(e, s->space, metric);
    if (st == OK)
        st = events_flush(e, err);
    events_close(&e);
    if (st == OK)
        st = remove_files(dir, names, n, err);
    fs_list_free(names, n);
    return st;
}

status hparams_write_trial(const study *s, const trial *t, const char *dir, const char *metric, error *err)
{
    char *folder = xasprintf("%s/hparams/%d", dir, t->number);
    status st = replace_file(s, t, folder, metric, err);
    free(folder);
    return st;
}

status hparams_write(const study *s, const char *dir, const char *metric, error *err)
{
    char *folder = xasprintf("%s/hparams", dir);
    status st = replace_file(s, NULL, folder, metric, err);
    free(folder);
    for (int i = 0; st == OK && i < s->n; i++)
        if (s->trials[i].state != TRIAL_RUNNING)
            st = hparams_write_trial(s, &s->trials[i], dir, metric, err);
    return st;
}
