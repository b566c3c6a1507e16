#include "tune/study.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[TRIAL_STATES] = {
    [TRIAL_RUNNING] = "running", [TRIAL_COMPLETE] = "complete", [TRIAL_FAILED] = "failed"};

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
    for (int i = 0; i < s->n; i++)
        free(s->trials[i].point);
    free(s->trials);
    *s = (study){.space = s->space, .better = s->better};
}

/* --- records --- */

static json_t *record(int number, trial_state state)
{
    return json_pack("{s:i, s:s}", "trial", number, "state", state_names[state]);
}

json_t *study_record_running(const study *s, int number, const double *point)
{
    json_t *r = record(number, TRIAL_RUNNING);
    json_object_set_new(r, "values", space_values(s->space, point));
    return r;
}

/* To as many digits as are written and read again without another rounding. */
static double rounded(double x)
{
    char text[40];
    snprintf(text, sizeof text, "%.*g", STUDY_DIGITS, x);
    return strtod(text, NULL);
}

json_t *study_record_complete(int number, double objective, int64_t steps)
{
    json_t *r = record(number, TRIAL_COMPLETE);
    json_object_set_new(r, "objective", json_real(rounded(objective)));
    json_object_set_new(r, "steps", json_integer((json_int_t)steps));
    return r;
}

json_t *study_record_failed(int number, const char *why)
{
    json_t *r = record(number, TRIAL_FAILED);
    json_object_set_new(r, "why", json_string(why));
    return r;
}

/* --- reading them --- */

static status state_of(const json_t *r, trial_state *ret, error *err)
{
    const char *name = json_string_value(json_object_get(r, "state"));
    for (trial_state i = 0; name && i < TRIAL_STATES; i++)
        if (strcmp(name, state_names[i]) == 0) {
            *ret = i;
            return OK;
        }
    return FAIL(err, E_DATA, "a trial's state is '%s': it is running, complete or failed", name ? name : "not said");
}

static status take_running(study *s, int64_t number, const json_t *r, error *err)
{
    if (number != s->n + 1)
        return FAIL(err, E_DATA, "trial %" PRId64 " begins, but the next one is %d", number, s->n + 1);
    double *point = xcalloc((size_t)s->space->n, sizeof *point);
    status st = space_point_of(s->space, json_object_get(r, "values"), point, err);
    if (st != OK) {
        free(point);
        error_prepend(err, "trial %" PRId64, number);
        return st;
    }
    GROW(s->trials, s->cap, s->n + 1);
    s->trials[s->n] = (trial){.number = (int)number, .state = TRIAL_RUNNING, .point = point, .objective = NAN};
    s->n++;
    return OK;
}

static status take_end(study *s, int64_t number, trial_state state, const json_t *r, error *err)
{
    if (number < 1 || number > s->n)
        return FAIL(err, E_DATA, "trial %" PRId64 " ends, but it has not begun", number);
    trial *t = &s->trials[number - 1];
    if (t->state != TRIAL_RUNNING)
        return FAIL(err, E_DATA, "trial %" PRId64 " ends a second time", number);
    const json_t *objective = json_object_get(r, "objective"), *steps = json_object_get(r, "steps");
    if (state == TRIAL_COMPLETE && (!json_is_number(objective) || !json_is_integer(steps)))
        return FAIL(err, E_DATA, "trial %" PRId64 " is complete without an objective and its steps", number);
    t->state = state;
    if (state == TRIAL_COMPLETE) {
        t->objective = json_number_value(objective);
        t->steps = (int64_t)json_integer_value(steps);
    }
    return OK;
}

status study_take(study *s, const json_t *r, error *err)
{
    trial_state state = TRIAL_RUNNING;
    const json_t *number = json_object_get(r, "trial");
    if (!json_is_integer(number))
        return FAIL(err, E_DATA, "a record has no number of a trial");
    TRY(state_of(r, &state, err));
    int64_t n = (int64_t)json_integer_value(number);
    return state == TRIAL_RUNNING ? take_running(s, n, r, err) : take_end(s, n, state, r, err);
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

bool study_has(const study *s, const double *point)
{
    for (int i = 0; i < s->n; i++)
        if (memcmp(s->trials[i].point, point, (size_t)s->space->n * sizeof *point) == 0)
            return true;
    return false;
}
