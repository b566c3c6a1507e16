#include "tune/study.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[TRIAL_STATES] = {
    [TRIAL_RUNNING] = "running", [TRIAL_PAUSED] = "paused", [TRIAL_COMPLETE] = "complete",
    [TRIAL_STOPPED] = "stopped", [TRIAL_FAILED] = "failed"};

const char *trial_state_name(trial_state state)
{
    return state_names[state];
}

void study_init(study *s, const space *searched, int better)
{
    *s = (study){.space = searched, .better = better};
}

void study_fini(study *s)
{
    for (int i = 0; i < s->n; i++) {
        free(s->trials[i].point);
        free(s->trials[i].evaluations);
    }
    for (int i = 0; i < s->n_priors; i++)
        free(s->priors[i].point);
    free(s->priors);
    free(s->trials);
    *s = (study){.space = s->space, .better = s->better};
}

/* --- records --- */

static json_t *record(int number, const char *state)
{
    return json_pack("{s:i, s:s}", "trial", number, "state", state);
}

json_t *study_record_running(const study *s, int number, const double *point)
{
    json_t *r = record(number, "running");
    json_object_set_new(r, "values", space_values(s->space, point));
    return r;
}

/* To as many digits as are written and read again without another rounding. */
static json_t *rounded(double x)
{
    char text[40];
    snprintf(text, sizeof text, "%.*g", STUDY_DIGITS, x);
    return isfinite(x) ? json_real(strtod(text, NULL)) : json_null();
}

json_t *study_record_evaluated(int number, const trial_evaluation *e)
{
    json_t *r = record(number, "evaluated");
    json_object_set_new(r, "epoch", json_integer((json_int_t)e->epoch));
    json_object_set_new(r, "steps", json_integer((json_int_t)e->steps));
    json_object_set_new(r, "objective", rounded(e->objective));
    return r;
}

json_t *study_record_paused(int number)
{
    return record(number, "paused");
}

json_t *study_record_resumed(int number)
{
    return record(number, "resumed");
}

json_t *study_record_stopped(int number)
{
    return record(number, "stopped");
}

json_t *study_record_complete(int number, double objective, int64_t steps)
{
    json_t *r = record(number, "complete");
    json_object_set_new(r, "objective", rounded(objective));
    json_object_set_new(r, "steps", json_integer((json_int_t)steps));
    return r;
}

json_t *study_record_failed(int number, const char *why)
{
    json_t *r = record(number, "failed");
    json_object_set_new(r, "why", json_string(why));
    return r;
}

json_t *study_record_prior(const study *s, int number, const double *point, double objective)
{
    json_t *r = json_pack("{s:i}", "prior", number);
    json_object_set_new(r, "values", space_values(s->space, point));
    json_object_set_new(r, "objective", rounded(objective));
    return r;
}

json_t *study_records_for_another(const study *s)
{
    json_t *list = json_array();
    int n = 0;
    for (int i = 0; i < s->n_priors; i++)
        json_array_append_new(list, study_record_prior(s, ++n, s->priors[i].point, s->priors[i].objective));
    for (int i = 0; i < s->n; i++) {
        const trial *t = &s->trials[i];
        if (t->state == TRIAL_FAILED || (t->state != TRIAL_RUNNING && isfinite(t->objective)))
            json_array_append_new(list, study_record_prior(s, ++n, t->point, t->objective));
    }
    return list;
}

/* --- reading them --- */

static status read_point(const study *s, const json_t *r, double **ret, error *err)
{
    double *point = xcalloc((size_t)s->space->n, sizeof *point);
    status st = space_point_of(s->space, json_object_get(r, "values"), point, err);
    if (st == OK)
        *ret = point;
    else
        free(point);
    return st;
}

static status take_prior(study *s, int64_t number, const json_t *r, error *err)
{
    const json_t *objective = json_object_get(r, "objective");
    double *point = NULL;
    if (number != s->n_priors + 1 || s->n)
        return FAIL(err, E_DATA, "prior trial %" PRId64 " is known, but %d are, and %d trials", number, s->n_priors,
                    s->n);
    if (!json_is_number(objective) && !json_is_null(objective))
        return FAIL(err, E_DATA, "prior trial %" PRId64 " has no objective", number);
    TRYF(read_point(s, r, &point, err), err, "prior trial %" PRId64, number);
    GROW(s->priors, s->cap_priors, s->n_priors + 1);
    s->priors[s->n_priors++] =
        (prior_trial){.point = point, .objective = json_is_null(objective) ? NAN : json_number_value(objective)};
    return OK;
}

static status take_values(study *s, int64_t number, const json_t *r, error *err)
{
    double *point = NULL;
    if (number != s->n + 1)
        return FAIL(err, E_DATA, "trial %" PRId64 " begins, but the next one is %d", number, s->n + 1);
    TRYF(read_point(s, r, &point, err), err, "trial %" PRId64, number);
    GROW(s->trials, s->cap, s->n + 1);
    s->trials[s->n] = (trial){.number = (int)number, .state = TRIAL_RUNNING, .point = point, .objective = NAN};
    s->n++;
    return OK;
}

static status take_evaluation(const study *s, trial *t, const json_t *r, error *err)
{
    const json_t *epoch = json_object_get(r, "epoch"), *steps = json_object_get(r, "steps");
    const json_t *objective = json_object_get(r, "objective");
    if (!json_is_integer(epoch) || !json_is_integer(steps) || !(json_is_number(objective) || json_is_null(objective)))
        return FAIL(err, E_DATA, "trial %d is evaluated without an epoch, steps and an objective", t->number);
    trial_evaluation e = {.epoch = (int64_t)json_integer_value(epoch), .steps = (int64_t)json_integer_value(steps),
                          .objective = json_is_null(objective) ? NAN : json_number_value(objective)};
    int64_t last = t->n_evaluations ? t->evaluations[t->n_evaluations - 1].epoch : 0;
    if (e.epoch <= last)
        return FAIL(err, E_DATA, "trial %d is evaluated after epoch %" PRId64 ", but the last time was after %" PRId64,
                    t->number, e.epoch, last);
    GROW(t->evaluations, t->cap_evaluations, t->n_evaluations + 1);
    t->evaluations[t->n_evaluations++] = e;
    t->objective = study_better(s, t->objective, e.objective);
    t->steps = e.steps;
    return OK;
}

static status take_stop(const study *s, trial *t, const json_t *r, error *err)
{
    (void)s, (void)r;
    if (!t->n_evaluations)
        return FAIL(err, E_DATA, "trial %d rests before it was evaluated", t->number);
    return OK;
}

static status take_resumption(const study *s, trial *t, const json_t *r, error *err)
{
    (void)s, (void)r, (void)err;
    t->resumed++;
    return OK;
}

static status take_result(const study *s, trial *t, const json_t *r, error *err)
{
    (void)s;
    const json_t *objective = json_object_get(r, "objective"), *steps = json_object_get(r, "steps");
    if (!json_is_number(objective) || !json_is_integer(steps))
        return FAIL(err, E_DATA, "trial %d is complete without an objective and its steps", t->number);
    t->objective = json_number_value(objective);
    t->steps = (int64_t)json_integer_value(steps);
    return OK;
}

static status take_failure(const study *s, trial *t, const json_t *r, error *err)
{
    (void)s, (void)r, (void)err;
    t->objective = NAN;
    return OK;
}

/* What is said of a trial that has begun. */
static const struct {
    const char *word;
    trial_state from, to;
    status (*take)(const study *s, trial *t, const json_t *r, error *err);
} changes[] = {
    {"evaluated", TRIAL_RUNNING, TRIAL_RUNNING, take_evaluation},
    {"paused", TRIAL_RUNNING, TRIAL_PAUSED, take_stop},
    {"resumed", TRIAL_PAUSED, TRIAL_RUNNING, take_resumption},
    {"complete", TRIAL_RUNNING, TRIAL_COMPLETE, take_result},
    {"stopped", TRIAL_RUNNING, TRIAL_STOPPED, take_stop},
    {"failed", TRIAL_RUNNING, TRIAL_FAILED, take_failure},
};

static status take_change(study *s, int64_t number, const char *word, const json_t *r, error *err)
{
    size_t i = 0;
    while (i < COUNT_OF(changes) && strcmp(word, changes[i].word) != 0)
        i++;
    if (i == COUNT_OF(changes))
        return FAIL(err, E_DATA, "a trial's state is '%s': it is running, evaluated, paused, resumed, complete, "
                    "stopped or failed", word);
    if (number < 1 || number > s->n)
        return FAIL(err, E_DATA, "trial %" PRId64 " cannot be %s: it has not begun", number, word);
    trial *t = &s->trials[number - 1];
    if (t->state != changes[i].from)
        return FAIL(err, E_DATA, "trial %d cannot be %s: it is %s", t->number, word, state_names[t->state]);
    TRY(changes[i].take(s, t, r, err));
    t->state = changes[i].to;
    return OK;
}

status study_take(study *s, const json_t *r, error *err)
{
    const json_t *number = json_object_get(r, "trial"), *prior = json_object_get(r, "prior");
    const char *word = json_string_value(json_object_get(r, "state"));
    if (json_is_integer(prior))
        return take_prior(s, (int64_t)json_integer_value(prior), r, err);
    if (!json_is_integer(number))
        return FAIL(err, E_DATA, "a record has no number of a trial");
    int64_t n = (int64_t)json_integer_value(number);
    word = word ? word : "not said";
    return strcmp(word, "running") == 0 ? take_values(s, n, r, err) : take_change(s, n, word, r, err);
}

/* --- what they come to --- */

int study_count(const study *s, trial_state state)
{
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += s->trials[i].state == state;
    return n;
}

const trial *study_best(const study *s)
{
    const trial *best = NULL;
    for (int i = 0; i < s->n; i++) {
        const trial *t = &s->trials[i];
        if (t->state == TRIAL_COMPLETE && (!best || s->better * (t->objective - best->objective) > 0))
            best = t;
    }
    return best;
}

int study_count_known(const study *s)
{
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += s->trials[i].state != TRIAL_RUNNING && isfinite(s->trials[i].objective);
    for (int i = 0; i < s->n_priors; i++)
        n += isfinite(s->priors[i].objective);
    return n;
}

int study_count_points(const study *s)
{
    return s->n_priors + s->n;
}

bool study_has(const study *s, const double *point)
{
    size_t bytes = (size_t)s->space->n * sizeof *point;
    bool has = false;
    for (int i = 0; i < s->n && !has; i++)
        has = memcmp(s->trials[i].point, point, bytes) == 0;
    for (int i = 0; i < s->n_priors && !has; i++)
        has = memcmp(s->priors[i].point, point, bytes) == 0;
    return has;
}

double study_better(const study *s, double a, double b)
{
    return isnan(a) || s->better * (b - a) > 0 ? b : a;
}
