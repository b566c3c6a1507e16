/* A line of JSON Lines as a record (format.h): an object, whose values are found by their keys. */
#include "data/record/format.h"

#include "common/base/json.h"
#include "common/base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* The first byte that is no UTF-8; `bytes`: none. */
static size_t first_broken(const unsigned char *data, size_t bytes)
{
    uint32_t code;
    size_t at = 0;
    for (size_t one; at < bytes && (one = utf8_decode(data + at, bytes - at, &code)) > 0; at += one)
        continue;
    return at;
}

static status parse_line(const unsigned char *data, size_t bytes, void **ret, error *err)
{
    json_error_t why;
    json_t *o =
        json_loadb((const char *)data, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    size_t broken = o ? bytes : first_broken(data, bytes);
    if (broken < bytes)
        return FAIL(err, E_DATA, "byte %zu of it (0x%02x) is no UTF-8", broken, data[broken]);
    if (!o)
        return FAIL(err, E_DATA, "column %d: no JSON: %s", why.column, why.text);
    if (!json_is_object(o)) {
        status st =
            FAIL(err, E_DATA, "is %s; expected an object, whose keys are named by dataset_reader.fields",
                 json_kind(o));
        json_decref(o);
        return st;
    }
    *ret = o;
    return OK;
}

static void drop_line(void *parsed)
{
    json_decref(parsed);
}

/* "answers.0.text": through objects by their keys and lists by their places, where no key is called so. */
static const void *find_path(const json_t *at, const char *path)
{
    while (at && *path) {
        char *rest;
        size_t n = strcspn(path, "."), place = strtoul(path, &rest, 10);
        bool is_place = path[0] >= '0' && path[0] <= '9' && rest == path + n;
        if (json_is_array(at))
            at = is_place ? json_array_get(at, place) : NULL;
        else
            at = json_object_getn(at, path, n);
        path += n + (path[n] == '.');
    }
    return at;
}

static const void *find_key(const void *parsed, const char *key)
{
    const json_t *value = json_object_get(parsed, key);
    return value || !strchr(key, '.') ? value : find_path(parsed, key);
}

static void add_keys(const void *parsed, buf *ret)
{
    const char *key, *between = "";
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)parsed, key, value)
    {
        buf_addf(ret, "%s%s", between, key);
        between = ", ";
    }
}

static size_t count_elements(const void *value)
{
    return json_is_array((const json_t *)value) ? json_array_size(value) : 1;
}

static const json_t *element(const json_t *value, size_t i)
{
    return json_is_array(value) ? json_array_get(value, i) : value;
}

static bool take_real(const void *value, size_t i, double *ret)
{
    const json_t *x = element(value, i);
    *ret = json_number_value(x);
    return json_is_number(x);
}

static bool take_integer(const void *value, size_t i, int64_t *ret)
{
    const json_t *x = element(value, i);
    *ret = json_integer_value(x);
    return json_is_integer(x);
}

static bool take_string(const void *value, const void **ret, size_t *ret_n)
{
    *ret = json_string_value(value);
    *ret_n = json_string_length(value);
    return json_is_string((const json_t *)value);
}

static void describe_value(const void *value, buf *ret)
{
    const json_t *x = value;
    if (json_is_array(x))
        buf_addf(ret, "a list of %zu", json_array_size(x));
    else
        buf_adds(ret, json_kind(x));
}

const record_format record_format_json = {
    .type = "jsonl",
    .kind = RECORD_LINES,
    .parse = parse_line,
    .drop = drop_line,
    .find = find_key,
    .keys = add_keys,
    .count = count_elements,
    .real = take_real,
    .integer = take_integer,
    .bytes = take_string,
    .describe = describe_value,
};
