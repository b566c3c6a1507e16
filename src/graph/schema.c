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

void schema_set_float(const attr_field *f, void *attr, double value)
{
    BUG_ON(f->type != ATTR_FLOAT);
    if (f->bytes == sizeof(double))
        *(double *)place(f, attr) = value;
    else
        *(float *)place(f, attr) = (float)value;
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
    case ATTR_SPLIT:
    case ATTR_NEW_AXIS:
    case ATTR_TYPE:
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

double schema_float(const attr_field *f, const void *attr)
{
    BUG_ON(f->type != ATTR_FLOAT);
    return f->bytes == sizeof(double) ? *(const double *)place_of(f, attr)
                                      : (double)*(const float *)place_of(f, attr);
}

int64_t schema_int(const attr_field *f, const void *attr)
{
    switch (f->type) {
    case ATTR_INT:
        return f->bytes == sizeof(int64_t) ? *(const int64_t *)place_of(f, attr)
                                           : *(const int32_t *)place_of(f, attr);
    case ATTR_AXIS:
    case ATTR_SPLIT:
    case ATTR_NEW_AXIS:
    case ATTR_TYPE:
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

bool schema_is_of_graph(const attr_field *f)
{
    return f->ours || f->type >= ATTR_TYPE;
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

static void set_all(const attr_field *f, void *attr)
{
    int32_t *axes = place(f, attr);
    int64_t *numbers = place(f, attr);
    double *reals = place(f, attr);
    for (size_t i = 0; f->type == ATTR_AXES && i < f->bytes / sizeof *axes; i++)
        axes[i] = (int32_t)f->otherwise;
    for (size_t i = 0; f->type == ATTR_NUMBERS && i < f->bytes / sizeof *numbers; i++)
        numbers[i] = (int64_t)f->otherwise;
    for (size_t i = 0; f->type == ATTR_REALS && i < f->bytes / sizeof *reals; i++)
        reals[i] = f->otherwise;
}

void schema_set_defaults(const attr_field *fields, void *attr)
{
    for (const attr_field *f = fields; f && f->name; f++) {
        if (f->type == ATTR_FLOAT)
            schema_set_float(f, attr, f->otherwise);
        else if (schema_is_list(f))
            end_list(f, attr, 0);
        else if (f->type == ATTR_SHAPE)
            *(graph_shape *)place(f, attr) = (graph_shape){.rank = 0};
        else if (f->type > ATTR_SHAPE)
            set_all(f, attr);
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
        return (float)schema_float(f, attr) == (float)f->otherwise;
    if (!schema_is_list(f))
        return schema_int(f, attr) == (int64_t)f->otherwise;
    for (size_t i = 0; i < f->bytes / sizeof(int64_t); i++)
        if (((const int64_t *)place_of(f, attr))[i] != (int64_t)f->otherwise)
            return false;
    return true;
}

static status check_bounds(const graph_node *n, const attr_field *f, error *err)
{
    double value = f->type == ATTR_FLOAT ? schema_float(f, n->attr)
                                         : (double)schema_int(f, n->attr);
    bool is_bounded = f->least > -__builtin_inf() || f->most < __builtin_inf();
    if (!is_bounded || (value >= f->least && value <= f->most && !(f->below && value == f->most)))
        return OK;
    if (!(value > f->most) && !(f->below && value == f->most))
        return rule_fail(n, err, "%s is %g, must be at least %g", f->name, value, f->least);
    return rule_fail(n, err, "%s is %g, must be %s %g", f->name, value, f->below ? "below" : "at most",
                     f->most);
}

/* An axis, or where one would be, counted from 0. */
static status complete_axis(const graph *g, const graph_node *n, const attr_field *f, error *err)
{
    int32_t rank = rule_shape(g, n, 0)->rank, *axis = place(f, (void *)n->attr);
    if (f->type == ATTR_NEW_AXIS)
        return rule_axis(n, rank + 1, axis, err);
    if (f->type == ATTR_SPLIT && *axis == rank)
        return OK;
    if (f->type == ATTR_AXIS && rank == 0)
        return rule_fail(n, err, "the input '%s' is a scalar, which has no axis",
                         graph_value_at(g, n->in[0])->name);
    return rule_axis(n, rank, axis, err);
}

static status complete_field(const graph *g, const graph_node *n, const attr_field *f, error *err)
{
    void *attr = (void *)n->attr;
    switch (f->type) {
    case ATTR_AXIS:
    case ATTR_SPLIT:
    case ATTR_NEW_AXIS:
        return complete_axis(g, n, f, err);
    case ATTR_SIZES:
    case ATTR_PADS:
        end_list(f, attr, rule_shape(g, n, 0)->rank);
        return OK;
    case ATTR_TYPE:
        if ((uint64_t)schema_int(f, attr) >= DTYPE_COUNT)
            return rule_fail(n, err, "%s is %" PRId64 ", which is no element type", f->name,
                             schema_int(f, attr));
        return OK;
    case ATTR_SHAPE:
        if (((graph_shape *)place(f, attr))->rank < 0 ||
            ((graph_shape *)place(f, attr))->rank > GRAPH_RANK)
            return rule_fail(n, err, "a shape has 0 to %d axes, not %" PRId32, GRAPH_RANK,
                             ((graph_shape *)place(f, attr))->rank);
        return OK;
    case ATTR_WORD:
        return check_word(n, f, err);
    case ATTR_FLOAT:
    case ATTR_INT:
        return check_bounds(n, f, err);
    default:
        return OK;
    }
}

status schema_complete(const graph *g, const graph_node *n, error *err)
{
    for (const attr_field *f = graph_op_of(n->op)->fields; f && f->name; f++)
        TRY(complete_field(g, n, f, err));
    return OK;
}
