/*
 * Checking and filling, section by section along the table. Within a section the type comes first,
 * then unknown keys in the order they were written, then values in the order of the table; so the
 * same mistake gives the same message.
 */
#include "common/config/resolve.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/config/allennlp.h"
#include "common/config/config.h"
#include "common/config/options.h"
#include "common/config/constraints.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct resolver {
    arena *memory; /* paths and texts for messages */
    error *err;
} resolver;

static status resolve_value(resolver *r, const option *row, const char *path, const json_t *value,
                            json_t **ret);

static const char *path_below(resolver *r, const char *path, const char *key)
{
    return arena_printf(r->memory, "%s%s%s", path, *path ? "." : "", key);
}

static const char *expected(resolver *r, const option *row)
{
    buf text = BUF_INIT;
    option_expected(row, &text);
    const char *copy = arena_strdup(r->memory, text.data);
    buf_fini(&text);
    return copy;
}

static status fail_kind(resolver *r, const option *row, const char *path, const json_t *value)
{
    if (json_is_object(value) || json_is_array(value) || json_is_null(value))
        return FAIL(r->err, E_CONFIG, "%s: got %s; expected %s", path, json_kind(value),
                    expected(r, row));
    char *text = json_text(value);
    status st = FAIL(r->err, E_CONFIG, "%s: got %s %.200s; expected %s", path, json_kind(value),
                     text, expected(r, row));
    free(text);
    return st;
}

/* "; did you mean 'x'?" or nothing */
static const char *hint(resolver *r, const char *word, const char *const *names, size_t n)
{
    const char *near = config_did_you_mean(word, names, n);
    return near ? arena_printf(r->memory, "; did you mean '%s'?", near) : "";
}

static status resolve_check_choice(resolver *r, const option *row, const char *path, const char *word)
{
    const char *names[64];
    size_t n = 0;
    char choice[64];
    for (const char *cursor = row->bounds; option_word(&cursor, choice, sizeof choice);) {
        if (strcmp(choice, word) == 0)
            return OK;
        BUG_ON(n == COUNT_OF(names));
        if (!strchr("<>#", choice[0]))
            names[n++] = arena_strdup(r->memory, choice);
    }
    const char *near = hint(r, word, names, n);
    const char *end = *near ? "" : ";";
    if (row->kinds & ~(unsigned)(OPTION_CHOICE | OPTION_TYPE | OPTION_NONE))
        return FAIL(r->err, E_CONFIG, "%s: '%s' is not known%s%s expected %s", path, word, near,
                    end, expected(r, row));
    buf known = BUF_INIT;
    for (size_t i = 0; i < n; i++)
        buf_addf(&known, " %s", names[i]);
    status st = FAIL(r->err, E_CONFIG, "%s: '%s' is not known%s%s known:%s", path, word, near, end,
                     known.data);
    buf_fini(&known);
    return st;
}

static status resolve_check_bounds(resolver *r, const option *row, const char *path, const json_t *value)
{
    char word[64];
    for (const char *cursor = row->bounds; option_word(&cursor, word, sizeof word);) {
        if (option_bound_holds(word, json_number_value(value)))
            continue;
        char *text = json_text(value);
        status st = FAIL(r->err, E_CONFIG, "%s: %s is out of range; expected %s", path, text,
                         expected(r, row));
        free(text);
        return st;
    }
    return OK;
}

/* A number as the table wants it; NULL when it cannot be that. */
static json_t *as_number(unsigned kinds, const json_t *value)
{
    if (!json_is_number(value))
        return NULL;
    if (kinds & (OPTION_NUMBER | OPTION_NUMBERS))
        return json_real(json_number_value(value));
    if (json_is_integer(value))
        return json_integer(json_integer_value(value));
    double x = json_real_value(value);
    bool is_whole = fabs(x) <= 9007199254740992.0 && x == (double)(int64_t)x;
    return is_whole ? json_integer((json_int_t)x) : NULL;
}

static status resolve_number(resolver *r, const option *row, const char *path, const json_t *value,
                             json_t **ret)
{
    json_t *number = as_number(row->kinds, value);
    if (!number)
        return fail_kind(r, row, path, value);
    status st = resolve_check_bounds(r, row, path, number);
    if (st == OK)
        *ret = number;
    else
        json_decref(number);
    return st;
}

static status resolve_numbers(resolver *r, const option *row, const char *path, const json_t *value,
                              json_t **ret)
{
    const char *count = strchr(row->bounds, '#');
    size_t n = json_array_size(value);
    if (count && n != strtoul(count + 1, NULL, 10))
        return FAIL(r->err, E_CONFIG, "%s: got %zu items; expected %s", path, n, expected(r, row));
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *number = NULL;
        status st = resolve_number(r, row, arena_printf(r->memory, "%s[%zu]", path, i),
                                   json_array_get(value, i), &number);
        if (st != OK) {
            json_decref(list);
            return st;
        }
        json_array_append_new(list, number);
    }
    *ret = list;
    return OK;
}

static status resolve_string(resolver *r, const option *row, const char *path, const json_t *value,
                             json_t **ret)
{
    const char *text = json_string_value(value);
    if (row->kinds & (OPTION_STRING | OPTION_STRINGS | OPTION_MAP)) {
        bool starts_well = text[0] && (!row->bounds[0] || strchr(row->bounds, text[0]));
        if (!starts_well)
            return FAIL(r->err, E_CONFIG, "%s: '%s' is no good; expected %s", path, text,
                        expected(r, row));
    } else {
        TRY(resolve_check_choice(r, row, path, text));
    }
    *ret = json_string(text);
    return OK;
}

static status resolve_strings(resolver *r, const option *row, const char *path, const json_t *value,
                              json_t **ret)
{
    json_t *list = json_array();
    status st = OK;
    for (size_t i = 0; i < json_array_size(value) && st == OK; i++) {
        const json_t *item = json_array_get(value, i);
        const char *where = arena_printf(r->memory, "%s[%zu]", path, i);
        json_t *text = NULL;
        st = json_is_string(item) ? resolve_string(r, row, where, item, &text)
                                  : fail_kind(r, row, where, item);
        if (st == OK)
            json_array_append_new(list, text);
    }
    if (st == OK)
        *ret = list;
    else
        json_decref(list);
    return st;
}

static status resolve_map(resolver *r, const option *row, const char *path, const json_t *value,
                          json_t **ret)
{
    json_t *map = json_object();
    status st = OK;
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)value, key, item)
    {
        const char *where = path_below(r, path, key);
        json_t *resolved = NULL;
        if (row->kinds & OPTION_INT_MAP)
            st = resolve_number(r, row, where, item, &resolved);
        else
            st = json_is_string(item) ? resolve_string(r, row, where, item, &resolved)
                                      : fail_kind(r, row, where, item);
        if (st != OK)
            break;
        json_object_set_new(map, key, resolved);
    }
    if (st == OK)
        *ret = map;
    else
        json_decref(map);
    return st;
}

/* The value of the section's `type`, checked; NULL for a section without one. */
static status section_type(resolver *r, const char *schema, const char *path, const json_t *object,
                           const char **ret)
{
    const option *row = option_find(schema, "type", NULL);
    if (!row) {
        *ret = NULL;
        return OK;
    }
    json_t *value = json_object_get(object, "type");
    json_t *initial = NULL;
    const char *where = path_below(r, path, "type");
    if (!value && !row->initial)
        return FAIL(r->err, E_CONFIG, "%s: missing; expected %s", where, expected(r, row));
    if (!value)
        value = initial = json_loads(row->initial, JSON_DECODE_ANY, NULL);
    status st = json_is_string(value) ? resolve_check_choice(r, row, where, json_string_value(value))
                                      : fail_kind(r, row, where, value);
    if (st == OK)
        *ret = arena_strdup(r->memory, json_string_value(value));
    json_decref(initial);
    return st;
}

static status resolve_fail_unknown(resolver *r, const char *schema, const char *type, const char *path,
                                   const char *key)
{
    const char *where = path_below(r, path, key);
    for (size_t i = 0; i < option_count; i++) {
        const option *o = &option_table[i];
        if (option_is_in(o, schema) && strcmp(option_key(o), key) == 0)
            return FAIL(r->err, E_CONFIG, "%s: type '%s' does not have this key; it belongs to: %s",
                        where, type, o->types);
    }
    const char *names[160];
    size_t n = 0;
    buf known = BUF_INIT;
    for (size_t i = 0; i < option_count; i++) {
        const option *o = &option_table[i];
        if (!option_is_in(o, schema) || !option_has_type(o, type))
            continue;
        BUG_ON(n == COUNT_OF(names));
        names[n++] = option_key(o);
        buf_addf(&known, " %s", option_key(o));
    }
    n += allennlp_names(schema, names + n, COUNT_OF(names) - n);
    const char *near = hint(r, key, names, n);
    status st = *near ? FAIL(r->err, E_CONFIG, "%s: unknown key%s", where, near)
                      : FAIL(r->err, E_CONFIG, "%s: unknown key; known:%s", where, known.data);
    buf_fini(&known);
    return st;
}

static status resolve_key(resolver *r, const option *row, const char *path, const json_t *object,
                          json_t *out)
{
    const char *key = option_key(row);
    const char *where = path_below(r, path, key);
    const json_t *value = json_object_get(object, key);
    json_t *initial = NULL;
    if (!value) {
        if (!row->initial)
            return FAIL(r->err, E_CONFIG, "%s: missing; expected %s", where, expected(r, row));
        value = initial = json_loads(row->initial, JSON_DECODE_ANY, NULL);
        if (!initial)
            BUG("default of %s is no JSON: %s", row->path, row->initial);
    }
    json_t *resolved = NULL;
    status st = resolve_value(r, row, where, value, &resolved);
    if (st == OK)
        json_object_set_new(out, key, resolved);
    json_decref(initial);
    return st;
}

static status fill_section(resolver *r, const char *schema, const char *path, const json_t *object,
                           json_t *out)
{
    const char *type = NULL;
    TRY(section_type(r, schema, path, object, &type));
    const char *key;
    json_t *ignored;
    json_object_foreach((json_t *)object, key, ignored)
    {
        if (!option_find(schema, key, type))
            return resolve_fail_unknown(r, schema, type, path, key);
    }
    for (size_t i = 0; i < option_count; i++) {
        const option *row = &option_table[i];
        if (option_is_in(row, schema) && option_has_type(row, type))
            TRY(resolve_key(r, row, path, object, out));
    }
    return OK;
}

/* AllenNLP's forms of a section as a list: `regexes` alone; a pair of `parameters` and the other keys; of `epochs` and
 * a `scheduler`; of a `pattern` and an `initializer`. NULL: it is none. */
static json_t *section_of_list(const option *row, const json_t *value)
{
    json_t *first = json_array_get(value, 0), *second = json_array_get(value, 1);
    if (json_is_array(value) && option_find(row->bounds, "regexes", NULL))
        return json_pack("{s:O}", "regexes", value);
    if (json_array_size(value) != 2)
        return NULL;
    if (option_find(row->bounds, "pattern", NULL))
        return json_pack("{s:O, s:O}", "pattern", first, "initializer", second);
    if (option_find(row->bounds, "scheduler", NULL))
        return json_pack("{s:O, s:O}", "epochs", first, "scheduler", second);
    if (!option_find(row->bounds, "parameters", NULL) || !json_is_array(first) || !json_is_object(second))
        return NULL;
    json_t *section = json_copy(second);
    json_object_set(section, "parameters", first);
    return section;
}

/* A section with types may be written as its type alone: "relu" for {type: "relu"}. */
static status resolve_section(resolver *r, const option *row, const char *path, const json_t *value,
                              json_t **ret)
{
    json_t *short_form = section_of_list(row, value);
    if (json_is_string(value) && option_find(row->bounds, "type", NULL)) {
        short_form = json_object();
        json_object_set(short_form, "type", (json_t *)value);
    }
    if (short_form)
        value = short_form;
    json_t *out = json_object();
    status st = json_is_object(value) ? fill_section(r, row->bounds, path, value, out)
                : row->kinds & OPTION_ITEMS
                    ? FAIL(r->err, E_CONFIG, "%s: got %s; expected an object or the name of a type",
                           path, json_kind(value))
                    : fail_kind(r, row, path, value);
    json_decref(short_form);
    if (st == OK)
        *ret = out;
    else
        json_decref(out);
    return st;
}

static status resolve_items(resolver *r, const option *row, const char *path, const json_t *value,
                            json_t **ret)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(value); i++) {
        json_t *item = NULL;
        status st = resolve_section(r, row, arena_printf(r->memory, "%s[%zu]", path, i),
                                    json_array_get(value, i), &item);
        if (st != OK) {
            json_decref(list);
            return st;
        }
        json_array_append_new(list, item);
    }
    *ret = list;
    return OK;
}

static status resolve_value(resolver *r, const option *row, const char *path, const json_t *value,
                            json_t **ret)
{
    unsigned kinds = row->kinds;
    if (json_is_null(value) && (kinds & OPTION_NONE)) {
        *ret = json_null();
        return OK;
    }
    if (kinds & OPTION_SECTION)
        return resolve_section(r, row, path, value, ret);
    if (json_is_object(value) && (kinds & (OPTION_MAP | OPTION_INT_MAP)))
        return resolve_map(r, row, path, value, ret);
    bool has_strings = json_is_string(json_array_get(value, 0)) || !(kinds & OPTION_INTS);
    if (json_is_array(value) && (kinds & OPTION_STRINGS) && has_strings)
        return resolve_strings(r, row, path, value, ret);
    if (json_is_array(value) && (kinds & OPTION_ITEMS))
        return resolve_items(r, row, path, value, ret);
    if (json_is_array(value) && (kinds & (OPTION_INTS | OPTION_NUMBERS)))
        return resolve_numbers(r, row, path, value, ret);
    if (json_is_string(value) && (kinds & (OPTION_STRING | OPTION_CHOICE | OPTION_TYPE)))
        return resolve_string(r, row, path, value, ret);
    if (json_is_number(value) && (kinds & (OPTION_INT | OPTION_NUMBER)))
        return resolve_number(r, row, path, value, ret);
    if (json_is_boolean(value) && (kinds & OPTION_BOOL)) {
        *ret = json_boolean(json_is_true(value));
        return OK;
    }
    return fail_kind(r, row, path, value);
}

status config_resolve(const json_t *written, json_t **ret, error *err)
{
    resolver r = {.memory = arena_create(), .err = err};
    json_t *tree = json_object();
    status st = fill_section(&r, "", "", written, tree);
    if (st == OK)
        st = constraints_check(tree, err);
    arena_destroy(&r.memory);
    if (st != OK) {
        json_decref(tree);
        return st;
    }
    constraints_derive(tree);
    *ret = tree;
    return OK;
}
