/* See fields.h. */
#include "text/fields.h"

#include "common/base/buf.h"
#include "text/chars.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

status fields_begin(const json_t *value, const char *place, fields *ret, error *err)
{
    if (!json_is_object(value))
        return FAIL(err, E_DATA, "%s: is %s; it must be an object", place, json_kind(value));
    *ret = (fields){.object = value, .n_asked = 0};
    snprintf(ret->place, sizeof ret->place, "%s", place);
    return OK;
}

void fields_inside(const fields *f, const char *key, int index, char ret[FIELDS_PLACE])
{
    /* "<file>: <path>": the path begins behind the file */
    const char *joint = strstr(f->place, ": ") ? "." : ": ";
    int n = snprintf(ret, FIELDS_PLACE, "%.300s%s%.100s", f->place, joint, key);
    if (index >= 0)
        snprintf(ret + n, FIELDS_PLACE - (size_t)n, "[%d]", index);
}

static void note(fields *f, const char *key)
{
    BUG_ON(f->n_asked == FIELDS_ASKED);
    f->asked[f->n_asked++] = key;
}

const json_t *fields_any(fields *f, const char *key)
{
    note(f, key);
    const json_t *value = json_object_get(f->object, key);
    return json_is_null(value) ? NULL : value;
}

static status wrong(const fields *f, const char *key, const json_t *value, const char *want, error *err)
{
    char place[FIELDS_PLACE];
    fields_inside(f, key, -1, place);
    if (!value)
        return FAIL(err, E_DATA, "%s: is missing; it must be %s", place, want);
    return FAIL(err, E_DATA, "%s: is %s; it must be %s", place, json_kind(value), want);
}

status fields_bool(fields *f, const char *key, bool otherwise, bool *ret, error *err)
{
    const json_t *value = fields_any(f, key);
    if (value && !json_is_boolean(value))
        return wrong(f, key, value, "true or false", err);
    *ret = value ? json_is_true(value) : otherwise;
    return OK;
}

status fields_count(fields *f, const char *key, int64_t otherwise, int64_t *ret, error *err)
{
    const json_t *value = fields_any(f, key);
    if (value && (!json_is_integer(value) || json_integer_value(value) < 0 ||
                  json_integer_value(value) > INT32_MAX))
        return wrong(f, key, value, "an integer from 0 to 2147483647", err);
    *ret = value ? json_integer_value(value) : otherwise;
    return OK;
}

status fields_text(fields *f, const char *key, const char *otherwise, const char **ret, error *err)
{
    const json_t *value = fields_any(f, key);
    if ((!value && !otherwise) || (value && !json_is_string(value)))
        return wrong(f, key, value, "a string", err);
    *ret = value ? json_string_value(value) : otherwise;
    return OK;
}

status fields_choice(fields *f, const char *key, const char *const *words, int otherwise, int *ret, error *err)
{
    const char *word = NULL;
    TRY(fields_text(f, key, otherwise < 0 ? NULL : words[otherwise], &word, err));
    char list[256] = "";
    for (int i = 0; words[i]; i++) {
        if (strcmp(word, words[i]) == 0) {
            *ret = i;
            return OK;
        }
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s\"%s\"", i ? ", " : "", words[i]);
    }
    char place[FIELDS_PLACE];
    fields_inside(f, key, -1, place);
    return FAIL(err, E_DATA, "%s: \"%s\" is not known here; known are %s", place, word, list);
}

status fields_char(fields *f, const char *key, const char *otherwise, uint32_t *ret, error *err)
{
    const char *text = NULL;
    size_t n = 0;
    TRY(fields_text(f, key, otherwise, &text, err));
    uint32_t code = *text ? chars_next(text, &n) : 0;
    if (!*text || text[n])
        return FAIL(err, E_DATA, "%s.%s: '%s' must be one character", f->place, key, text);
    *ret = code;
    return OK;
}

status fields_list(fields *f, const char *key, const json_t **ret, error *err)
{
    const json_t *value = fields_any(f, key);
    if (!json_is_array(value))
        return wrong(f, key, value, "an array", err);
    *ret = value;
    return OK;
}

void fields_ignore(fields *f, const char *key)
{
    note(f, key);
}

status fields_end(const fields *f, error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)f->object, key, value)
    {
        bool asked = false;
        for (int i = 0; i < f->n_asked && !asked; i++)
            asked = strcmp(key, f->asked[i]) == 0;
        char place[FIELDS_PLACE];
        fields_inside(f, key, -1, place);
        if (!asked)
            return FAIL(err, E_DATA, "%s: this key is not known here", place);
    }
    return OK;
}
