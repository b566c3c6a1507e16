#include "cli/tune/search_check.h"

#include "cli/run/input_files.h"
#include "cli/run/model_archive.h"
#include "cli/tune/trial_values.h"
#include "common/base/alloc.h"
#include "tune/sobol.h"
#include "worker/variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many points are tried until one can be trained, how many of them with data and model, and how many values more
 * are looked at. */
enum { POINTS = 32, BUILDS = 4, VALUES = 100 };

/* The configuration of a trial. */
static status load(const search_check *k, const double *point, config **ret, error *err)
{
    char **values = trial_values(k->space, point, k->metric, k->better);
    size_t n = 0, n_given = 0;
    while (k->settings && k->settings[n_given])
        n_given++;
    const char **settings = xcalloc(n_given + (size_t)k->space->n + 2, sizeof *settings);
    for (; n < n_given; n++)
        settings[n] = k->settings[n];
    for (char **word = values; *word; word++)
        settings[n++] = *word + strlen("--");
    status st = config_load(&(config_source){.path = k->config_path, .overrides = k->overrides, .settings = settings,
                                             .read_archive = model_archive_config},
                            ret, err);
    free(settings);
    trial_values_free(values);
    return st;
}

static status build(const search_check *k, const config *c, error *err)
{
    variants v;
    if (k->is_elsewhere && input_files_check(c, NULL) != OK)
        return OK;
    TRY(variants_build(c, &v, err));
    variants_fini(&v);
    return OK;
}

static void prepend_values(const search_check *k, const double *point, error *err)
{
    json_t *values = space_values(k->space, point);
    char *text = json_dumps(values, JSON_REAL_PRECISION(SPACE_DIGITS));
    error_prepend(err, "with the values %.300s", text);
    free(text);
    json_decref(values);
}

/* *ret_builds: whether the configuration could be resolved, and it was data or model that failed. */
static status try_point(const search_check *k, const double *point, bool *ret_builds, error *err)
{
    config *c = NULL;
    status st = load(k, point, &c, err);
    *ret_builds = st == OK;
    if (st == OK)
        st = build(k, c, err);
    config_destroy(&c);
    if (st != OK)
        prepend_values(k, point, err);
    return st;
}

/* The middle of the space, then others. */
static void choose_point(const space *s, int i, double *ret)
{
    for (int k = 0; k < s->n; k++)
        ret[k] = i ? sobol_plain((uint32_t)i, k) : 0.5;
    space_point(s, ret, ret);
}

/* A point that can be trained. What cannot even be resolved tells less than what cannot be built. */
static status find_point(const search_check *k, double *ret, error *err)
{
    error first = ERROR_INIT;
    int builds = 0;
    for (int i = 0; i < POINTS && builds < BUILDS; i++) {
        error why = ERROR_INIT;
        bool was_built = false;
        choose_point(k->space, i, ret);
        status st = try_point(k, ret, &was_built, &why);
        if (st == OK && first.code != OK)
            fprintf(stderr, "tequio: %s: not all of the space can be trained: %s\n", k->command, first.text);
        if (st == OK)
            return OK;
        builds += was_built;
        if (i == 0 || (was_built && builds == 1))
            first = why;
        if (st != E_CONFIG && st != E_UNSUPPORTED) /* no other values would mend it */
            break;
    }
    return FAIL(err, first.code, "%s", first.text);
}

/* How many values of a parameter are worth a look: all of a list, the ends of a range. */
static int count_values(const space_parameter *p)
{
    return p->n ? p->n : p->min < p->max ? 2 : 1;
}

static double value_at(const space_parameter *p, int i)
{
    return p->n ? i : i ? p->max : p->min;
}

static void warn_of_value(const search_check *k, const double *point, int at)
{
    const space one = {.at = &k->space->at[at], .n = 1};
    config *c = NULL;
    error why = ERROR_INIT;
    if (load(k, point, &c, &why) != OK) {
        prepend_values(&(search_check){.space = &one}, &point[at], &why);
        fprintf(stderr, "tequio: %s: trials fail %s\n", k->command, why.text);
    }
    config_destroy(&c);
}

/* All other values of each parameter, one by one, as long as there are not too many. */
static void look_at_values(const search_check *k, double *point)
{
    int looks = 0;
    for (int at = 0; at < k->space->n; at++) {
        const double found = point[at];
        for (int i = 0; i < count_values(&k->space->at[at]) && looks < VALUES; i++, looks++) {
            point[at] = value_at(&k->space->at[at], i);
            if (point[at] < found || point[at] > found)
                warn_of_value(k, point, at);
        }
        point[at] = found;
    }
}

status search_check_run(const search_check *k, error *err)
{
    double point[SPACE_PARAMETERS_MOST];
    TRY(find_point(k, point, err));
    look_at_values(k, point);
    return OK;
}
