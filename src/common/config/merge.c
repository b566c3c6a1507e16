/* Laying settings and overrides over the tree of the file. Checking values comes later, at once for
 * all sources; here only the paths must lead somewhere. */
#include "common/config/merge.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/config/allennlp.h"
#include "common/config/config.h"
#include "common/config/options.h"

#include <stdlib.h>
#include <string.h>

enum { PART_BYTES = 256 };

/* The next component of a dotted path: "a.b[2].c" gives a, b, 2, c; false at the end. */
static bool next_part(const char **cursor, char part[PART_BYTES])
{
    const char *start = *cursor + strspn(*cursor, ".[]");
    size_t n = strcspn(start, ".[]");
    if (n >= PART_BYTES)
        n = PART_BYTES - 1;
    memcpy(part, start, n);
    part[n] = '\0';
    *cursor = start + n;
    return n > 0;
}

static bool is_last(const char *cursor)
{
    return cursor[strspn(cursor, ".[]")] == '\0';
}

static bool is_index(const char *part)
{
    return part[0] && part[strspn(part, "0123456789")] == '\0' && strlen(part) < 9;
}

static status merge_into(json_t *node, const char *where, const json_t *object, error *err);

/* Puts `value` in the place of `old`, or merges it there. `slot` is the container. */
static status merge_put(json_t *slot, const char *key, size_t index, const char *where,
                        const json_t *value, error *err)
{
    json_t *old = key ? json_object_get(slot, key) : json_array_get(slot, index);
    if (json_is_object(value) && json_is_object(old))
        return merge_into(old, where, value, err);
    json_t *copy = json_is_object(value) ? json_object() : json_deep_copy(value);
    int failed = key ? json_object_set_new(slot, key, copy) : json_array_set_new(slot, index, copy);
    if (failed)
        return FAIL(err, E_CONFIG, "%s: the key is not valid UTF-8", where);
    return json_is_object(value) ? merge_into(copy, where, value, err) : OK;
}

/* The object or list below `slot`, made where nothing is; a string stands for {type: string}. */
static json_t *merge_descend(json_t *slot, const char *key, size_t index)
{
    json_t *child = key ? json_object_get(slot, key) : json_array_get(slot, index);
    if (json_is_object(child) || json_is_array(child))
        return child;
    json_t *made = json_object();
    if (json_is_string(child))
        json_object_set(made, "type", child);
    int failed = key ? json_object_set_new(slot, key, made) : json_array_set_new(slot, index, made);
    return failed ? NULL : made;
}

static status set_at(json_t *node, const char *where, const char *path, const json_t *value,
                     error *err)
{
    char part[PART_BYTES];
    const char *cursor = path;
    if (!next_part(&cursor, part))
        return FAIL(err, E_CONFIG, "'%s%s': expected the name of a key", where, path);
    while (node) {
        bool in_list = json_is_array(node);
        size_t index = in_list && is_index(part) ? strtoul(part, NULL, 10) : 0;
        if (in_list && (!is_index(part) || index >= json_array_size(node)))
            return FAIL(err, E_CONFIG, "%s%s: '%s' is no item of the list; it has %zu, from 0",
                        where, path, part, json_array_size(node));
        const char *key = in_list ? NULL : part;
        if (is_last(cursor)) {
            char *full = xasprintf("%s%s", where, path);
            status st = merge_put(node, key, index, full, value, err);
            free(full);
            return st;
        }
        node = merge_descend(node, key, index);
        next_part(&cursor, part);
    }
    return FAIL(err, E_CONFIG, "%s%s: the key is not valid UTF-8", where, path);
}

static status merge_into(json_t *node, const char *where, const json_t *object, error *err)
{
    char *below = *where ? xasprintf("%s.", where) : xstrdup("");
    const char *key;
    json_t *value;
    status st = OK;
    json_object_foreach((json_t *)object, key, value)
    {
        st = set_at(node, below, key, value, err);
        if (st != OK)
            break;
    }
    free(below);
    return st;
}

static json_t *setting_value(const char *text)
{
    error ignored = ERROR_INIT;
    json_t *value = NULL;
    if (json_parse(text, strlen(text), "", E_CONFIG, &value, &ignored) == OK)
        return value;
    return json_string(text);
}

status merge_setting(json_t *tree, const char *origin, const char *text, error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return FAIL(err, E_CONFIG, "%s: '%s': expected key=value", origin, text);
    json_t *value = setting_value(equals + 1);
    if (!value)
        return FAIL(err, E_CONFIG, "%s: '%s': the value is not valid UTF-8", origin, text);
    char *path = xstrndup(text, (size_t)(equals - text));
    status st = set_at(tree, "", path, value, err);
    if (st != OK)
        error_prepend(err, "%s", origin);
    free(path);
    json_decref(value);
    return st;
}

/* The row a dotted path leads to, or NULL; below `schema`. */
static const option *merge_row_of(const char *schema, const char *path)
{
    const option *row = NULL;
    char part[PART_BYTES];
    for (const char *cursor = path; next_part(&cursor, part);) {
        if (row && (row->kinds & OPTION_ANY_LIST) && is_index(part))
            continue;
        if (row && (row->kinds & (OPTION_MAP | OPTION_INT_MAP)))
            return row;
        if (row && !(row->kinds & (OPTION_SECTION | OPTION_ITEMS)))
            return NULL;
        row = option_find(row ? row->bounds : schema, part, NULL);
        if (!row)
            return NULL;
    }
    return row;
}

bool config_knows(const char *path)
{
    return merge_row_of("", path) || allennlp_knows(path);
}

bool config_is_list_of_numbers(const char *path)
{
    const option *row = merge_row_of("", path);
    const char *last = path + strlen(path);
    return row && (row->kinds & (OPTION_INTS | OPTION_NUMBERS)) && !(row->kinds & (OPTION_INT | OPTION_NUMBER)) &&
           (last == path || last[-1] != ']');
}

const char *config_nearest_path(const char *path)
{
    const char **names = xcalloc(option_count, sizeof *names);
    for (size_t i = 0; i < option_count; i++)
        names[i] = option_table[i].path;
    const char *near = config_did_you_mean(path, names, option_count);
    free(names);
    return near;
}

static void collect_unused(const char *schema, const char *where, const json_t *object, buf *ret,
                           const char **ret_near)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        char *path = xasprintf("%s%s%s", where, *where ? "." : "", key);
        const option *row = merge_row_of(schema, key);
        if (!row && !allennlp_knows(path)) {
            buf_addf(ret, "%s'%s'", ret->size ? ", " : "", path);
            if (!*ret_near)
                *ret_near = config_nearest_path(path);
        } else if (row && (row->kinds & OPTION_SECTION) && json_is_object(value)) {
            collect_unused(row->bounds, path, value, ret, ret_near);
        }
        free(path);
    }
}

status merge_overrides(json_t *tree, const json_t *overrides, error *err)
{
    buf unused = BUF_INIT;
    const char *near = NULL;
    collect_unused("", "", overrides, &unused, &near);
    status st = OK;
    if (unused.size)
        st = FAIL(err, E_CONFIG, "overrides dict contains unused keys: [%s]%s%s%s", unused.data,
                  near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    else
        st = merge_into(tree, "", overrides, err);
    buf_fini(&unused);
    return st;
}
