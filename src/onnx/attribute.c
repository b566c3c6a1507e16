/* The attributes of a node under translation: see call.h. */
#include "onnx/call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const Onnx__AttributeProto *find(Onnx__AttributeProto *const *list, size_t n,
                                        const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(onnx_text(list[i]->name), name) == 0)
            return list[i];
    return NULL;
}

/* In a function's body an attribute may stand for one of the call, which may stand for another. */
static const Onnx__AttributeProto *resolve(const scope *s, const Onnx__AttributeProto *a)
{
    while (a && *onnx_text(a->ref_attr_name)) {
        const char *wanted = a->ref_attr_name;
        if (!s->function)
            return NULL;
        a = find(s->caller->attribute, s->caller->n_attribute, wanted);
        if (!a)
            return find(s->function->attribute_proto, s->function->n_attribute_proto, wanted);
        s = s->caller_scope;
    }
    return a;
}

const Onnx__AttributeProto *call_attribute(call *c, const char *name)
{
    for (size_t i = 0; i < c->node->n_attribute; i++) {
        const Onnx__AttributeProto *a = c->node->attribute[i];
        if (strcmp(onnx_text(a->name), name) == 0) {
            c->read |= (uint64_t)1 << i % 64;
            return resolve(c->scope, a);
        }
    }
    return NULL;
}

void call_ignore(call *c, const char *name)
{
    (void)call_attribute(c, name);
}

static const Onnx__AttributeProto *typed(call *c, const char *name, onnx_attribute_type type)
{
    const Onnx__AttributeProto *a = call_attribute(c, name);
    if (!a || onnx_attribute_is(a, type))
        return a;
    c->wrong = name;
    return NULL;
}

/* --- what a schema says instead --- */

/* A version that does not have the attribute yet means what its default will be. What must be there
 * can only be missing where a function's caller left it out. */
static onnx_attribute default_of(call *c, const char *name)
{
    onnx_attribute known;
    if (!onnx_schema_any_attribute(c->schema, name, &known, NULL) ||
        (!known.has_default && !known.is_required))
        BUG("the attribute '%s' of %s has no default", name, c->schema->type);
    if (known.is_required)
        c->wrong = name;
    return known;
}

int64_t call_int_or(call *c, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *a = typed(c, name, ONNX_INT_ATTRIBUTE);
    return a ? a->i : otherwise;
}

int64_t call_int(call *c, const char *name)
{
    const Onnx__AttributeProto *a = typed(c, name, ONNX_INT_ATTRIBUTE);
    return a ? a->i : strtoll(default_of(c, name).value, NULL, 10);
}

int32_t call_narrow(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

int32_t call_int32(call *c, const char *name)
{
    return call_narrow(call_int(c, name));
}

int32_t call_int32_or(call *c, const char *name, int64_t otherwise)
{
    return call_narrow(call_int_or(c, name, otherwise));
}

bool call_knows(const call *c, const char *name)
{
    onnx_attribute known;
    return onnx_schema_any_attribute(c->schema, name, &known, NULL);
}

bool call_flag(call *c, const char *name)
{
    return call_knows(c, name) && call_int(c, name) != 0;
}

double call_float_or(call *c, const char *name, double otherwise)
{
    const Onnx__AttributeProto *a = typed(c, name, ONNX_FLOAT_ATTRIBUTE);
    return a ? (double)a->f : otherwise;
}

double call_float(call *c, const char *name)
{
    const Onnx__AttributeProto *a = typed(c, name, ONNX_FLOAT_ATTRIBUTE);
    return a ? (double)a->f : (double)strtof(default_of(c, name).value, NULL);
}

const char *call_str(call *c, const char *name)
{
    const Onnx__AttributeProto *a = typed(c, name, ONNX_STRING_ATTRIBUTE);
    if (!a) {
        onnx_attribute known = default_of(c, name);
        return arena_strndup(c->im->a, known.value, strlen(known.value));
    }
    return arena_strndup(c->im->a, (const char *)a->s.data, a->s.len);
}

static int32_t default_ints(const call *c, const char *name, int64_t *ret, int32_t most)
{
    onnx_attribute known;
    int32_t n = 0;
    if (!onnx_schema_any_attribute(c->schema, name, &known, NULL) || !known.has_default)
        return -1;
    for (char *at = known.value; *at; at += *at == ',') {
        BUG_ON(n == most);
        ret[n++] = strtoll(at, &at, 10);
    }
    return n;
}

int32_t call_ints(call *c, const char *name, int64_t *ret, int32_t most)
{
    const Onnx__AttributeProto *a = typed(c, name, ONNX_INTS_ATTRIBUTE);
    if (!a)
        return default_ints(c, name, ret, most);
    if (a->n_ints > (size_t)most) {
        c->wrong = name;
        return -1;
    }
    for (size_t i = 0; i < a->n_ints; i++)
        ret[i] = a->ints[i];
    return (int32_t)a->n_ints;
}

/* --- whether a node and what is made of it agree --- */

static bool has_name(char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

/* What stands for an attribute of the function around it needs both. */
static status check_reference(const call *c, const Onnx__AttributeProto *a, error *err)
{
    const char *wanted = onnx_text(a->ref_attr_name);
    const Onnx__FunctionProto *f = c->scope->function;
    if (!*wanted)
        return OK;
    if (!f)
        return FAIL(err, E_DATA, "its attribute '%s' stands for '%s' of a function, but is in none",
                    onnx_text(a->name), wanted);
    if (!has_name(f->attribute, f->n_attribute, wanted) &&
        !find(f->attribute_proto, f->n_attribute_proto, wanted))
        return FAIL(err, E_DATA,
                    "its attribute '%s' stands for '%s', which the function %s does not have",
                    onnx_text(a->name), wanted, onnx_text(f->name));
    return OK;
}

status call_check(const call *c, error *err)
{
    TRY(onnx_schema_check(c->schema, c->node, c->version, err));
    for (size_t i = 0; i < c->node->n_attribute; i++)
        TRY(check_reference(c, c->node->attribute[i], err));
    return OK;
}

/* Does it say what would hold without it? Lists and the like never do. */
static bool is_default(const call *c, const Onnx__AttributeProto *a)
{
    onnx_attribute known;
    if (!onnx_schema_attribute(c->schema, a->name, &known) || !known.has_default)
        return false;
    if (onnx_attribute_is(a, ONNX_INT_ATTRIBUTE))
        return a->i == strtoll(known.value, NULL, 10);
    if (onnx_attribute_is(a, ONNX_FLOAT_ATTRIBUTE))
        return a->f == strtof(known.value, NULL);
    return onnx_attribute_is(a, ONNX_STRING_ATTRIBUTE) && a->s.len == strlen(known.value) &&
           memcmp(a->s.data, known.value, a->s.len) == 0;
}

status call_check_read(const call *c, error *err)
{
    if (c->wrong)
        return FAIL(err, E_DATA, "its attribute '%s' is missing, of a wrong type, or too long",
                    c->wrong);
    for (size_t i = 0; i < c->node->n_attribute; i++) {
        const Onnx__AttributeProto *a = resolve(c->scope, c->node->attribute[i]);
        if (a && !(c->read >> i % 64 & 1) && !is_default(c, a))
            return call_refuse(err, "its attribute '%s' is not supported",
                               onnx_text(c->node->attribute[i]->name));
    }
    return OK;
}
