#include "graph/schema.h"

#include "graph/ops/rule.h"

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
        *(int64_t *)place(f, attr) = value;
        return;
    case ATTR_AXIS:
        *(int32_t *)place(f, attr) = narrow(value);
        return;
    case ATTR_BOOL:
    case ATTR_NOT:
        *(bool *)place(f, attr) = (value != 0) == (f->type == ATTR_BOOL);
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
        return *(const int64_t *)place_of(f, attr);
    case ATTR_AXIS:
        return *(const int32_t *)place_of(f, attr);
    case ATTR_BOOL:
    case ATTR_NOT:
        return *(const bool *)place_of(f, attr) == (f->type == ATTR_BOOL);
    default:
        BUG("the attribute '%s' is no integer", f->name);
    }
}

void schema_set_defaults(const attr_field *fields, void *attr)
{
    for (const attr_field *f = fields; f && f->name; f++) {
        if (f->type == ATTR_FLOAT)
            schema_set_float(f, attr, (float)f->otherwise);
        else
            schema_set_int(f, attr, (int64_t)f->otherwise);
    }
}

static status check_bounds(const graph_node *n, const attr_field *f, error *err)
{
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
        TRY(check_bounds(n, f, err));
    }
    return OK;
}
