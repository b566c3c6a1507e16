#include "tune/space.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double whole_most = 9007199254740992.0; /* 2^53: all whole numbers up to it are doubles */

/* --- checks --- */

static status check_range(const space_parameter *p, const char **field, error *err)
{
    *field = "minValue";
    if (!isfinite(p->min) || !isfinite(p->max))
        return FAIL(err, E_CONFIG, "'%s' goes from %g to %g: both must be finite", p->name, p->min, p->max);
    if (p->min > p->max)
        return FAIL(err, E_CONFIG, "'%s' begins at %g, which is above its maxValue %g", p->name, p->min, p->max);
    if (!isfinite(p->max - p->min))
        return FAIL(err, E_CONFIG, "'%s' goes from %g to %g: that is farther than numbers go", p->name, p->min, p->max);
    if (p->kind == SPACE_INTEGER && (p->min != floor(p->min) || fabs(p->min) > whole_most))
        return FAIL(err, E_CONFIG, "%g is no whole number, but '%s' is an INTEGER", p->min, p->name);
    if (p->scale != SPACE_LINEAR && p->min <= 0)
        return FAIL(err, E_CONFIG, "'%s' begins at %g, which has no logarithm: give more than 0, or UNIT_LINEAR_SCALE",
                    p->name, p->min);
    *field = "maxValue";
    if (p->kind == SPACE_INTEGER && (p->max != floor(p->max) || fabs(p->max) > whole_most))
        return FAIL(err, E_CONFIG, "%g is no whole number, but '%s' is an INTEGER", p->max, p->name);
    return OK;
}

static status check_numbers(const space_parameter *p, error *err)
{
    for (int i = 0; i < p->n; i++)
        if (!isfinite(p->numbers[i]))
            return FAIL(err, E_CONFIG, "'%s' has a value that is not finite", p->name);
    for (int i = 1; i < p->n; i++)
        if (p->numbers[i] <= p->numbers[i - 1])
            return FAIL(err, E_CONFIG, "'%s' has the value %g twice", p->name, p->numbers[i]);
    if (p->scale != SPACE_LINEAR && p->numbers[0] <= 0)
        return FAIL(err, E_CONFIG, "'%s' has the value %g, which has no logarithm: give more than 0, or "
                    "UNIT_LINEAR_SCALE", p->name, p->numbers[0]);
    return OK;
}

static status check_words(const space_parameter *p, error *err)
{
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(p->words[i], p->words[k]) == 0)
                return FAIL(err, E_CONFIG, "'%s' has the value '%s' twice", p->name, p->words[i]);
    return OK;
}

static status check_list(const space_parameter *p, const char **field, error *err)
{
    bool is_words = p->kind == SPACE_CATEGORICAL;
    *field = is_words ? "categoricalValues" : "discreteValues";
    if (p->n == 0)
        return FAIL(err, E_CONFIG, "'%s' has no values to choose from", p->name);
    if (p->n > SPACE_ITEMS_MOST)
        return FAIL(err, E_CONFIG, "'%s' has %d values; at most %d", p->name, p->n, SPACE_ITEMS_MOST);
    TRY(is_words ? check_words(p, err) : check_numbers(p, err));
    *field = "scaleType";
    if (is_words && p->is_scaled)
        return FAIL(err, E_CONFIG, "'%s' is CATEGORICAL: words have no scale; leave it out, or give NONE", p->name);
    return OK;
}

status space_parameter_check(const space_parameter *p, const char **ret_field, error *err)
{
    return p->kind == SPACE_DOUBLE || p->kind == SPACE_INTEGER ? check_range(p, ret_field, err)
                                                               : check_list(p, ret_field, err);
}

int64_t space_parameter_values(const space_parameter *p)
{
    switch (p->kind) {
    case SPACE_DOUBLE:
        return 0;
    case SPACE_INTEGER:
        return (int64_t)(p->max - p->min) + 1;
    default:
        return p->n;
    }
}

/* --- scales: from least to most onto 0 to 1, and back --- */

static double scale_to_unit(space_scale scale, double from, double to, double value)
{
    if (to <= from)
        return 0.5;
    switch (scale) {
    case SPACE_LOG:
        return (log(value) - log(from)) / (log(to) - log(from));
    case SPACE_REVERSE_LOG:
        return 1.0 - (log(from + to - value) - log(from)) / (log(to) - log(from));
    default:
        return (value - from) / (to - from);
    }
}

static double scale_from_unit(space_scale scale, double from, double to, double unit)
{
    switch (scale) {
    case SPACE_LOG:
        return exp(log(from) + unit * (log(to) - log(from)));
    case SPACE_REVERSE_LOG:
        return from + to - exp(log(from) + (1.0 - unit) * (log(to) - log(from)));
    default:
        return from + unit * (to - from);
    }
}

/* Of a DISCRETE its items' places in the cube: by their numbers on a scale, else evenly. */
static double place_of_item(const space_parameter *p, int i)
{
    if (p->kind == SPACE_CATEGORICAL || !p->is_scaled)
        return (i + 0.5) / p->n;
    return scale_to_unit(p->scale, p->numbers[0], p->numbers[p->n - 1], p->numbers[i]);
}

static double nearest_item(const space_parameter *p, double unit)
{
    int best = 0;
    for (int i = 1; i < p->n; i++)
        if (fabs(place_of_item(p, i) - unit) <= fabs(place_of_item(p, best) - unit))
            best = i;
    return best;
}

/* What people can read and type again; the first and last value stay within the range. */
static double rounded(double x, double min, double max)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", x);
    return fmin(fmax(strtod(text, NULL), min), max);
}

static double value_at(const space_parameter *p, double unit)
{
    double u = fmin(fmax(unit, 0.0), 1.0);
    switch (p->kind) {
    case SPACE_DOUBLE:
        return rounded(scale_from_unit(p->scale, p->min, p->max, u), p->min, p->max);
    case SPACE_INTEGER: /* half a cell more on both sides, so that the ends have whole ones */
        return fmin(fmax(round(scale_from_unit(p->scale, p->min - 0.5, p->max + 0.5, u)), p->min), p->max);
    default:
        return nearest_item(p, u);
    }
}

static double unit_of(const space_parameter *p, double value)
{
    switch (p->kind) {
    case SPACE_DOUBLE:
        return scale_to_unit(p->scale, p->min, p->max, value);
    case SPACE_INTEGER:
        return scale_to_unit(p->scale, p->min - 0.5, p->max + 0.5, value);
    default:
        return place_of_item(p, (int)value);
    }
}

void space_point(const space *s, const double *unit, double *ret)
{
    for (int i = 0; i < s->n; i++)
        ret[i] = value_at(&s->at[i], unit[i]);
}

void space_unit(const space *s, const double *point, double *ret)
{
    for (int i = 0; i < s->n; i++)
        ret[i] = unit_of(&s->at[i], point[i]);
}

/* --- as JSON --- */

static json_t *whole_or_real(double x)
{
    return x == floor(x) && fabs(x) < whole_most ? json_integer((json_int_t)x) : json_real(x);
}

static json_t *value_of_word(const char *word)
{
    json_t *value = json_loads(word, JSON_DECODE_ANY, NULL);
    return value ? value : json_string(word);
}

static json_t *value_json(const space_parameter *p, double number)
{
    switch (p->kind) {
    case SPACE_DOUBLE:
        return json_real(number);
    case SPACE_INTEGER:
        return json_integer((json_int_t)number);
    case SPACE_DISCRETE:
        return whole_or_real(p->numbers[(int)number]);
    default:
        return value_of_word(p->words[(int)number]);
    }
}

json_t *space_values(const space *s, const double *point)
{
    json_t *values = json_object();
    for (int i = 0; i < s->n; i++)
        json_object_set_new(values, s->at[i].name, value_json(&s->at[i], point[i]));
    return values;
}

static char *written(const json_t *value)
{
    return json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(SPACE_DIGITS));
}

/* The place of an item of that value, as it is written; -1: it has none. */
static int item_of(const space_parameter *p, const json_t *value)
{
    int found = -1;
    char *text = written(value);
    for (int i = 0; i < p->n && found < 0; i++) {
        json_t *item = value_json(p, i);
        char *other = written(item);
        if (strcmp(text, other) == 0)
            found = i;
        free(other);
        json_decref(item);
    }
    free(text);
    return found;
}

/* A bound that has more digits than are written, and was. */
static double bound_of(const space_parameter *p, double x)
{
    char text[2][40];
    const double bounds[] = {p->min, p->max};
    snprintf(text[0], sizeof text[0], "%.*g", SPACE_DIGITS, x);
    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        snprintf(text[1], sizeof text[1], "%.*g", SPACE_DIGITS, bounds[i]);
        if (strcmp(text[0], text[1]) == 0)
            return bounds[i];
    }
    return x;
}

static bool number_of(const space_parameter *p, const json_t *value, double *ret)
{
    if (p->kind == SPACE_CATEGORICAL || p->kind == SPACE_DISCRETE) {
        *ret = item_of(p, value);
        return *ret >= 0;
    }
    *ret = bound_of(p, json_number_value(value));
    return json_is_number(value) && *ret >= p->min && *ret <= p->max &&
           (p->kind == SPACE_DOUBLE || json_is_integer(value));
}

status space_point_of(const space *s, const json_t *values, double *ret, error *err)
{
    for (int i = 0; i < s->n; i++) {
        const json_t *value = json_object_get(values, s->at[i].name);
        if (!value)
            return FAIL(err, E_DATA, "there is no value of '%s'", s->at[i].name);
        if (!number_of(&s->at[i], value, &ret[i])) {
            char *text = json_dumps(value, JSON_ENCODE_ANY);
            status st = FAIL(err, E_DATA, "'%s' cannot be %s in this space", s->at[i].name, text);
            free(text);
            return st;
        }
    }
    return OK;
}

static json_t *describe_parameter(const space_parameter *p)
{
    static const char *const kinds[] = {"DOUBLE", "INTEGER", "CATEGORICAL", "DISCRETE"};
    static const char *const scales[] = {"UNIT_LINEAR_SCALE", "UNIT_LOG_SCALE", "UNIT_REVERSE_LOG_SCALE"};
    json_t *d = json_pack("{s:s, s:s}", "parameterName", p->name, "type", kinds[p->kind]), *items = json_array();
    if (p->is_scaled)
        json_object_set_new(d, "scaleType", json_string(scales[p->scale]));
    for (int i = 0; i < p->n; i++)
        json_array_append_new(items, value_json(p, i));
    if (p->n)
        json_object_set_new(d, "values", items);
    else
        json_decref(items);
    if (!p->n)
        json_object_update_new(d, json_pack("{s:f, s:f}", "minValue", p->min, "maxValue", p->max));
    return d;
}

json_t *space_describe(const space *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n; i++)
        json_array_append_new(list, describe_parameter(&s->at[i]));
    return list;
}
