#include "job/spec/schema.h"

#include "common/base/enum_name.h"
#include "common/config/config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const field field_table[] = {
#define FIELD(message, name, kind, detail, use, note)                                              \
    {#message, #name, FIELD_##kind, detail, FIELD_##use, note},
#include "job/spec/fields.def"
#undef FIELD
};
const size_t field_count = COUNT_OF(field_table);

typedef struct checking {
    arena *memory;
    schema_warn *warn;
    void *user;
    error *err;
} checking;

/* --- names --- */

/* Whether `key` is `name` written in camel or in snake case. */
static bool is_named(const char *key, const char *name)
{
    if (strcmp(key, name) == 0)
        return true;
    for (; *name; name++) {
        if (isupper((unsigned char)*name) && *key++ != '_')
            return false;
        if (*key++ != tolower((unsigned char)*name))
            return false;
    }
    return !*key;
}

static const field *find(const char *message, const char *key)
{
    for (size_t i = 0; i < field_count; i++)
        if (strcmp(field_table[i].message, message) == 0 && is_named(key, field_table[i].name))
            return &field_table[i];
    return NULL;
}

/* The message that has a field of this name, but for `message`: it may only stand in the wrong
 * place. */
static const char *home_of(const char *key, const char *message)
{
    for (size_t i = 0; i < field_count; i++)
        if (is_named(key, field_table[i].name) && strcmp(field_table[i].message, message) != 0)
            return field_table[i].message;
    return NULL;
}

static status fail_unknown(const checking *c, const doc_node *value, const char *message,
                           const char *key)
{
    const char *names[COUNT_OF(field_table)];
    size_t n = 0;
    for (size_t i = 0; i < field_count; i++)
        if (strcmp(field_table[i].message, message) == 0)
            names[n++] = field_table[i].name;
    const char *near = config_did_you_mean(key, names, n);
    const char *home = home_of(key, message);
    if (near)
        return DOC_FAIL(c->err, value, "%s has no field '%s'; did you mean '%s'?", message, key, near);
    if (home)
        return DOC_FAIL(c->err, value, "%s has no field '%s'; it belongs into %s", message, key, home);
    return DOC_FAIL(c->err, value, "%s has no field '%s'", message, key);
}

/* --- values --- */

static bool read_whole(const char *text, int64_t *ret)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || isspace((unsigned char)*text))
        return false;
    *ret = value;
    return true;
}

static bool read_number(const char *text, double *ret)
{
    char *end;
    *ret = strtod(text, &end);
    return end != text && !*end && isfinite(*ret) && !isspace((unsigned char)*text);
}

/* "3.5s": seconds with at most nine digits behind the point. */
static bool read_duration(const char *text, double *ret)
{
    size_t whole = strspn(text, "0123456789"), part = 0;
    const char *at = text + whole;
    if (*at == '.') {
        part = strspn(++at, "0123456789");
        at += part;
        if (!part || part > 9)
            return false;
    }
    if (!whole || whole > 12 || strcmp(at, "s") != 0)
        return false;
    *ret = strtod(text, NULL);
    return true;
}

static bool read_bool(const doc_node *node, bool *ret)
{
    static const char *const words[] = {"false", "true", "False", "True", "FALSE", "TRUE"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (!node->is_quoted && strcmp(node->text, words[i]) == 0) {
            *ret = i % 2;
            return true;
        }
    return false;
}

static status fail_value(const checking *c, const doc_node *node, const char *expected)
{
    char got[128];
    return DOC_FAIL(c->err, node, "must be %s, not %s", expected,
                    document_kind(node, got, sizeof got));
}

static status check_choice(const checking *c, doc_node *node, const field *f)
{
    size_t bytes = 0;
    const char *word =
        node->kind == DOC_SCALAR ? enum_name_find(f->detail, ' ', node->text, &bytes) : NULL;
    if (word) {
        node->text = arena_strndup(c->memory, word, bytes);
        return OK;
    }
    char expected[512];
    snprintf(expected, sizeof expected, "one of %s", f->detail);
    return fail_value(c, node, expected);
}

static bool is_scalar_of(const doc_node *node, field_kind kind)
{
    int64_t whole;
    double number;
    bool truth;
    if (node->kind != DOC_SCALAR)
        return false;
    switch (kind) {
    case FIELD_BOOL:
        return read_bool(node, &truth);
    case FIELD_WHOLE:
        return read_whole(node->text, &whole);
    case FIELD_NUMBER:
    case FIELD_NUMBERS:
        return read_number(node->text, &number);
    case FIELD_DURATION:
        return read_duration(node->text, &number);
    default:
        return true;
    }
}

static const char *const expected_of[] = {
    [FIELD_TEXT] = "text",
    [FIELD_BOOL] = "true or false",
    [FIELD_WHOLE] = "a whole number",
    [FIELD_NUMBER] = "a number",
    [FIELD_DURATION] = "seconds as \"3.5s\"",
    [FIELD_TEXTS] = "a list of texts",
    [FIELD_NUMBERS] = "a list of numbers",
    [FIELD_LABELS] = "keys with texts",
    [FIELD_MESSAGE] = "keys with values",
    [FIELD_MESSAGES] = "a list",
};

static status check_scalars(const checking *c, const doc_node *node, const field *f, doc_kind kind)
{
    if (node->kind != kind)
        return fail_value(c, node, expected_of[f->kind]);
    for (int i = 0; i < node->n; i++)
        if (!is_scalar_of(node->item[i], f->kind))
            return fail_value(c, node->item[i], f->kind == FIELD_NUMBERS ? "a number" : "text");
    return OK;
}

static status check_message(const checking *c, doc_node *node, const char *message);

/* One alone stands for a list of it, as gcloud has it. */
static status check_messages(const checking *c, doc_node *node, const field *f)
{
    if (node->kind == DOC_MAP)
        return check_message(c, node, f->detail);
    if (node->kind != DOC_LIST)
        return fail_value(c, node, expected_of[f->kind]);
    for (int i = 0; i < node->n; i++)
        if (node->item[i]->kind != DOC_NULL)
            TRY(check_message(c, node->item[i], f->detail));
    return OK;
}

static status schema_check_value(const checking *c, doc_node *node, const field *f)
{
    switch (f->kind) {
    case FIELD_ANY:
        return OK;
    case FIELD_CHOICE:
        return check_choice(c, node, f);
    case FIELD_TEXTS:
    case FIELD_NUMBERS:
        return check_scalars(c, node, f, DOC_LIST);
    case FIELD_LABELS:
        return check_scalars(c, node, f, DOC_MAP);
    case FIELD_MESSAGE:
        return check_message(c, node, f->detail);
    case FIELD_MESSAGES:
        return check_messages(c, node, f);
    default:
        return is_scalar_of(node, f->kind) ? OK : fail_value(c, node, expected_of[f->kind]);
    }
}

static status check_field(const checking *c, doc_node *map, int i, const char *message)
{
    doc_node *value = map->item[i];
    const field *f = find(message, map->key[i]);
    if (!f)
        return fail_unknown(c, value, message, map->key[i]);
    if (strcmp(map->key[i], f->name) != 0 && document_get(map, f->name))
        return DOC_FAIL(c->err, value, "the field '%s' stands here a second time", f->name);
    map->key[i] = f->name;
    if (value->kind == DOC_NULL)
        return OK;
    TRY(schema_check_value(c, value, f));
    if (f->use == FIELD_REFUSED)
        return DOC_FAIL(c->err, value, "%s", f->note);
    if (f->use == FIELD_IGNORED && c->warn)
        c->warn(c->user, value, f);
    return OK;
}

static status check_message(const checking *c, doc_node *node, const char *message)
{
    if (node->kind != DOC_MAP)
        return fail_value(c, node, expected_of[FIELD_MESSAGE]);
    for (int i = 0; i < node->n; i++)
        TRY(check_field(c, node, i, message));
    return OK;
}

status schema_check(doc_node *top, const char *message, arena *memory, schema_warn *warn,
                    void *user, error *err)
{
    checking c = {.memory = memory, .warn = warn, .user = user, .err = err};
    return top->kind == DOC_NULL ? OK : check_message(&c, top, message);
}

int64_t schema_whole(const doc_node *node)
{
    int64_t n = 0;
    BUG_ON(!read_whole(node->text, &n));
    return n;
}

bool schema_bool(const doc_node *node)
{
    bool truth = false;
    BUG_ON(!read_bool(node, &truth));
    return truth;
}

double schema_seconds(const doc_node *node)
{
    double seconds = 0;
    BUG_ON(!read_duration(node->text, &seconds));
    return seconds;
}
