#include "common/base/json.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/utf8.h"

#include <stdlib.h>
#include <string.h>

status json_parse(const char *text, size_t bytes, const char *origin, status code, json_t **ret,
                  error *err)
{
    json_error_t cause;
    json_t *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &cause);
    if (!value)
        return FAIL(err, code, "%s: line %d column %d: %s", origin, cause.line, cause.column,
                    cause.text);
    *ret = value;
    return OK;
}

enum { JSON_FILE_LIMIT = 1 << 28 };

status json_read_file(const char *path, json_t **ret, error *err)
{
    buf text = BUF_INIT;
    status st = fs_read(path, JSON_FILE_LIMIT, &text, err);
    if (st == OK)
        st = json_parse(text.data ? text.data : "", text.size, path, E_DATA, ret, err);
    buf_fini(&text);
    return st;
}

void json_pretty(const json_t *value, buf *ret)
{
    char *text = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    if (!text)
        BUG("a JSON value that cannot be printed");
    buf_addf(ret, "%s\n", text);
    free(text);
}

status json_write_file(const char *path, const json_t *value, error *err)
{
    buf out = BUF_INIT;
    json_pretty(value, &out);
    status st = fs_write_atomic(path, out.data, out.size, err);
    buf_fini(&out);
    return st;
}

char *json_text(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY |
                                       JSON_REAL_PRECISION(17));
    if (!text)
        BUG("a JSON value that cannot be printed");
    return text;
}

json_t *json_words(const char *text)
{
    char *whole = xstrdup(text);
    utf8_mend(whole);
    json_t *value = json_string(whole);
    free(whole);
    return value;
}

const char *json_kind(const json_t *value)
{
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "null";
    }
}
