#include "graph/schema.h"

#include "graph/ops/rule.h"

#include <inttypes.h>
#include <string.h>

static void *place(const attr_field *f, void *attr)
{
    return (char *)attr + f->at;
}

static const void *place_of(const attr_field *f, const void *attr)
{
    return (const char *)attr + f->at;
}

void schema_set_float(const attr_field *f, void *attr, float value)
{
    BUG_ON(f->type != ATTR_FLOAT);
    *(float *)place(f, attr) = value;
}

/* A number beyond 32 bits becomes the last one there is, which no check takes for an axis. */
static int32_t narrow(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

void schema_set_int(const attr_field *f, void *attr, int64_t value)
{
    switch (f->type) {
    case ATTR_INT:
        if (f->bytes == sizeof(int64_t))
            *(int64_t *)place(f, attr) = value;
        else
            *(int32_t *)place(f, attr) = narrow(value);
        return;
    case ATTR_AXIS:
        *(int32_t *)place(f, attr) = narrow(value);
        return;
    case ATTR_BOOL:
    case ATTR_NOT:
        *(bool *)place(f, attr) = (value != 0) == (f->type == ATTR_BOOL);
        return;
    case ATTR_WORD:
        if (f->bytes == sizeof(bool))
            *(bool *)place(f, attr) = value != 0;
        else
            *(int32_t *)place(f, attr) = narrow(value);
        return;
    default:
        BUG("the attribute '%s' is no integer", f->name);
    }
}

float schema_float(const attr_field *f, const void *attr)
{
    BUG_ON(f->type != ATTR_FLOAT);
    return *(const float *)place_of(f, attr);
}

int64_t schema_int(const attr_field *f, const void *attr)
{
    switch (f->type) {
    case ATTR_INT:
        return f->bytes == sizeof(int64_t) ? *(const int64_t *)place_of(f, attr)
                                           : *(const int32_t *)place_of(f, attr);
    case ATTR_AXIS:
        return *(const int32_t *)place_of(f, attr);
    case ATTR_BOOL:
    case ATTR_NOT:
        return *(const bool *)place_of(f, attr) == (f->type == ATTR_BOOL);
    case ATTR_WORD:
        BUG_ON(f->bytes != sizeof(bool) && f->bytes != sizeof(int32_t));
        return f->bytes == sizeof(bool) ? *(const bool *)place_of(f, attr)
                                        : *(const int32_t *)place_of(f, attr);
    default:
        BUG("the attribute '%s' is no integer", f->name);
    }
}

/* --- words --- */

/* Is `word` one of the names at the beginning of `names`, which `n` bytes hold? */
static bool is_named(const char *names, size_t n, const char *word)
{
    for (size_t at = 0, length; at < n; at += length + 1) {
        length = strcspn(names + at, "| ");
        if (strlen(word) == length && memcmp(names + at, word, length) == 0)
            return true;
    }
    return false;
}

int64_t schema_word_at(const attr_field *f, const char *word)
{
    int64_t place = 0;
    for (const char *at = f->words; *at; at += strspn(at, " "), place++) {
        size_t n = strcspn(at, " ");
        if (is_named(at, n, word))
            return place;
        at += n;
    }
    return -1;
}

bool schema_word(const attr_field *f, int64_t at, char ret[SCHEMA_WORD])
{
    const char *word = f->words;
    for (; at > 0 && *word; at--) {
        word += strcspn(word, " ");
        word += strspn(word, " ");
    }
    size_t n = strcspn(word, "| ");
    if (at < 0 || n == 0)
        return false;
    BUG_ON(n >= SCHEMA_WORD);
    memcpy(ret, word, n);
    ret[n] = '\0';
    return true;
}

/* --- lists --- */

bool schema_is_list(const attr_field *f)
{
    return f->type == ATTR_SIZES || f->type == ATTR_PADS;
}

int64_t *schema_list(const attr_field *f, void *attr)
{
    BUG_ON(!schema_is_list(f));
    return place(f, attr);
}

int32_t schema_length(const attr_field *f, int32_t rank)
{
    return f->type == ATTR_PADS ? 2 * (rank - 2) : rank - 2;
}

/* --- all fields of a node --- */

bool schema_says_all(const attr_field *fields)
{
    while (fields->name)
        fields++;
    return fields->bytes == 0;
}

/* Sets the numbers of axes that the input does not have. What the others may be is the shape rule's
 * to say. */
static void end_list(const attr_field *f, void *attr, int32_t rank)
{
    int32_t from = schema_length(f, rank);
    for (size_t i = from > 0 ? (size_t)from : 0; i < f->bytes / sizeof(int64_t); i++)
        schema_list(f, attr)[i] = (int64_t)f->otherwise;
}

void schema_set_defaults(const attr_field *fields, void *attr)
{
    for (const attr_field *f = fields; f && f->name; f++) {
        if (f->type == ATTR_FLOAT)
            schema_set_float(f, attr, (float)f->otherwise);
        else if (schema_is_list(f))
            end_list(f, attr, 0);
        else
            schema_set_int(f, attr, (int64_t)f->otherwise);
    }
}

static status check_word(const graph_node *n, const attr_field *f, error *err)
{
    char word[SCHEMA_WORD];
    int64_t at = schema_int(f, n->attr);
    if (schema_word(f, at, word))
        return OK;
    return rule_fail(n, err, "%s is %" PRId64 ", which is none of: %s", f->name, at, f->words);
}

bool schema_is_default(const attr_field *f, const void *attr)
{
    if (f->type == ATTR_FLOAT)
        return schema_float(f, attr) == (float)f->otherwise;
    if (!schema_is_list(f))
        return schema_int(f, attr) == (int64_t)f->otherwise;
    for (size_t i = 0; i < f->bytes / sizeof(int64_t); i++)
        if (((const int64_t *)place_of(f, attr))[i] != (int64_t)f->otherwise)
            return false;
    return true;
}

static status check_bounds(const graph_node *n, const attr_field *f, error *err)
{
    if (f->type == ATTR_WORD)
        return check_word(n, f, err);
    double value = f->type == ATTR_FLOAT ? (double)schema_float(f, n->attr)
                                         : (double)schema_int(f, n->attr);
    if (!(value < f->least) && !(value > f->most))
        return OK;
    if (value < f->least)
        return rule_fail(n, err, "%s is %g, must be at least %g", f->name, value, f->least);
    return rule_fail(n, err, "%s is %g, must be at most %g", f->name, value, f->most);
}

status schema_complete(const graph *g, const graph_node *n, error *err)
{
    for (const attr_field *f = graph_op_of(n->op)->fields; f && f->name; f++) {
        if (f->type == ATTR_AXIS && rule_shape(g, n, 0)->rank == 0)
            return rule_fail(n, err, "the input '%s' is a scalar, which has no axis",
                             graph_value_at(g, n->in[0])->name);
        if (f->type == ATTR_AXIS)
            TRY(rule_axis(n, rule_shape(g, n, 0)->rank, place(f, (void *)n->attr), err));
        if (schema_is_list(f))
            end_list(f, (void *)n->attr, rule_shape(g, n, 0)->rank);
        else
            TRY(check_bounds(n, f, err));
    }
    return OK;
}
