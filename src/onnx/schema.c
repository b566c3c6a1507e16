#include "onnx/schema.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <string.h>

static const onnx_schema table[] = {
#define ONNX_SCHEMA(type, domain, since, inputs, outputs, attributes)                              \
    {#type, domain, since, inputs, outputs, attributes},
#include "onnx/schema.def"
#undef ONNX_SCHEMA
};

static int order(const onnx_schema *s, const char *domain, const char *type)
{
    int by_domain = strcmp(s->domain, domain);
    return by_domain ? by_domain : strcmp(s->type, type);
}

/* Rows are in order, an operator's from the oldest on. */
const onnx_schema *onnx_schema_first(const char *domain, const char *type)
{
    size_t low = 0, high = COUNT_OF(table);
    if (strcmp(domain, "ai.onnx") == 0)
        domain = "";
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order(&table[middle], domain, type) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < COUNT_OF(table) && order(&table[low], domain, type) == 0 ? &table[low] : NULL;
}

static const onnx_schema *next(const onnx_schema *s)
{
    return s + 1 < table + COUNT_OF(table) && order(s + 1, s->domain, s->type) == 0 ? s + 1 : NULL;
}

const onnx_schema *onnx_schema_find(const char *domain, const char *type, int64_t version)
{
    const onnx_schema *found = NULL;
    for (const onnx_schema *s = onnx_schema_first(domain, type); s && s->since <= version;
         s = next(s))
        found = s;
    return found;
}

/* --- what a row says --- */

static void copy_part(char to[ONNX_ATTRIBUTE_TEXT], const char *from, size_t n)
{
    BUG_ON(n >= ONNX_ATTRIBUTE_TEXT);
    memcpy(to, from, n);
    to[n] = '\0';
}

/* name:type, name:type! or name:type=default */
bool onnx_schema_attribute(const onnx_schema *s, const char *name, onnx_attribute *ret)
{
    size_t n = strlen(name);
    for (const char *at = s->attributes; *at; at += strspn(at, " ")) {
        size_t whole = strcspn(at, " ");
        if (strncmp(at, name, n) == 0 && at[n] == ':') {
            const char *type = at + n + 1, *end = at + whole;
            size_t type_n = strcspn(type, "=! ");
            *ret = (onnx_attribute){.is_required = type[type_n] == '!',
                                    .has_default = type[type_n] == '='};
            copy_part(ret->type, type, type_n);
            if (ret->has_default)
                copy_part(ret->value, type + type_n + 1, (size_t)(end - type) - type_n - 1);
            return true;
        }
        at += whole;
    }
    return false;
}

bool onnx_schema_any_attribute(const onnx_schema *s, const char *name, onnx_attribute *ret,
                               const onnx_schema **ret_schema)
{
    const onnx_schema *found = NULL;
    for (const onnx_schema *newer = s; newer && !found; newer = next(newer))
        found = onnx_schema_attribute(newer, name, ret) ? newer : NULL;
    const onnx_schema *older = onnx_schema_first(s->domain, s->type);
    for (; !found && older < s; older++)
        found = onnx_schema_attribute(older, name, ret) ? older : NULL;
    if (found && ret_schema)
        *ret_schema = found;
    return found != NULL;
}

bool onnx_schema_port(const char *ports, size_t i, onnx_port *ret)
{
    for (const char *at = ports; *at; at += strspn(at, " ")) {
        size_t whole = strcspn(at, " "), type_n = strcspn(at, "?*+ ");
        bool is_variadic = at[type_n] == '*' || at[type_n] == '+';
        if (i == 0 || is_variadic) {
            *ret = (onnx_port){.is_optional = at[type_n] == '?' || at[type_n] == '*' || i > 0,
                               .is_variadic = is_variadic,
                               .is_mixed = is_variadic && whole - type_n == 2};
            copy_part(ret->type, at, type_n);
            return true;
        }
        at += whole;
        i--;
    }
    return false;
}

/* --- whether a node keeps to it --- */

static const char *const type_names[] = {
    "any",        "float",   "int",     "string", "tensor",        "graph",          "floats",
    "ints",       "strings", "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto",
    "type_protos"};

/* Old files say no type; then the field that is there does. */
static const char *type_of(const Onnx__AttributeProto *a)
{
    int32_t type = a->has_type    ? a->type
                   : a->has_f     ? ONNX_FLOAT_ATTRIBUTE
                   : a->has_i     ? ONNX_INT_ATTRIBUTE
                   : a->has_s     ? ONNX_STRING_ATTRIBUTE
                   : a->t         ? ONNX_TENSOR_ATTRIBUTE
                   : a->g         ? ONNX_GRAPH_ATTRIBUTE
                   : a->n_floats  ? ONNX_FLOATS_ATTRIBUTE
                   : a->n_ints    ? ONNX_INTS_ATTRIBUTE
                   : a->n_strings ? ONNX_STRINGS_ATTRIBUTE
                                  : ONNX_ANY;
    return type >= 0 && (size_t)type < COUNT_OF(type_names) ? type_names[type]
                                                            : "a type without name";
}

bool onnx_attribute_is(const Onnx__AttributeProto *a, onnx_attribute_type type)
{
    const char *own = type_of(a);
    return strcmp(own, type_names[type]) == 0 || strcmp(own, "any") == 0;
}

static status unknown_attribute(const onnx_schema *s, const char *name, int64_t version, error *err)
{
    onnx_attribute a;
    const onnx_schema *has = NULL;
    if (!onnx_schema_any_attribute(s, name, &a, &has))
        return FAIL(err, E_UNSUPPORTED, "its attribute '%s' is none that the operator has", name);
    if (has->since > version)
        return FAIL(err, E_UNSUPPORTED,
                    "its attribute '%s' is not in opset %" PRId64 "; since %" PRId64, name, version,
                    has->since);
    while (next(has) && onnx_schema_attribute(next(has), name, &a))
        has = next(has);
    return FAIL(err, E_UNSUPPORTED,
                "its attribute '%s' is not in opset %" PRId64 "; up to %" PRId64, name, version,
                next(has)->since - 1);
}

static status check_attribute(const onnx_schema *s, const Onnx__NodeProto *n, size_t i,
                              int64_t version, error *err)
{
    const Onnx__AttributeProto *own = n->attribute[i];
    const char *name = onnx_text(own->name);
    onnx_attribute known;
    for (size_t k = 0; k < i; k++)
        if (strcmp(onnx_text(n->attribute[k]->name), name) == 0)
            return FAIL(err, E_DATA, "its attribute '%s' is there twice", name);
    if (own->base.n_unknown_fields)
        return FAIL(err, E_UNSUPPORTED,
                    "its attribute '%s' has field %" PRIu32 ", which is not known here", name,
                    own->base.unknown_fields[0].tag);
    if (!onnx_schema_attribute(s, name, &known))
        return unknown_attribute(s, name, version, err);
    const char *type = type_of(own);
    if (strcmp(type, known.type) != 0 && strcmp(type, "any") != 0)
        return FAIL(err, E_DATA, "its attribute '%s' is of type %s, must be %s", name, type,
                    known.type);
    return OK;
}

static bool has_attribute(const Onnx__NodeProto *n, const char *name, size_t length)
{
    for (size_t i = 0; i < n->n_attribute; i++)
        if (strncmp(onnx_text(n->attribute[i]->name), name, length) == 0 &&
            onnx_text(n->attribute[i]->name)[length] == '\0')
            return true;
    return false;
}

static status check_required(const onnx_schema *s, const Onnx__NodeProto *n, error *err)
{
    for (const char *at = s->attributes; *at; at += strspn(at, " ")) {
        size_t whole = strcspn(at, " "), name_n = strcspn(at, ":");
        if (at[whole - 1] == '!' && !has_attribute(n, at, name_n))
            return FAIL(err, E_DATA, "its attribute '%.*s' is missing", (int)name_n, at);
        at += whole;
    }
    return OK;
}

static size_t n_ports(const char *ports)
{
    onnx_port p;
    size_t n = 0;
    while (onnx_schema_port(ports, n, &p)) {
        if (p.is_variadic)
            return SIZE_MAX;
        n++;
    }
    return n;
}

/* The version from which on there are more than `n`; 0 if there never are. */
static int64_t since_more(const onnx_schema *s, size_t n, bool of_inputs)
{
    for (s = next(s); s; s = next(s))
        if (n_ports(of_inputs ? s->inputs : s->outputs) >= n)
            return s->since;
    return 0;
}

/* `what` is "input" or "output". Names that are empty at the end are none. */
static status check_ports(const onnx_schema *s, char *const *names, size_t n, bool of_inputs,
                          int64_t version, error *err)
{
    const char *ports = of_inputs ? s->inputs : s->outputs, *what = of_inputs ? "input" : "output";
    onnx_port p;
    while (n > 0 && !*names[n - 1])
        n--;
    size_t most = n_ports(ports);
    int64_t since = n > most ? since_more(s, n, of_inputs) : 0;
    if (since)
        return FAIL(err, E_UNSUPPORTED,
                    "it has %zu %ss, in opset %" PRId64 " at most %zu; more since %" PRId64, n,
                    what, version, most, since);
    if (n > most)
        return FAIL(err, E_UNSUPPORTED, "it has %zu %ss, the operator has at most %zu", n, what,
                    most);
    for (size_t i = 0; of_inputs && onnx_schema_port(ports, i, &p) && (i < n || !p.is_variadic);
         i++)
        if (!p.is_optional && (i >= n || !*names[i]))
            return FAIL(err, E_DATA, "its input %zu is missing", i);
    return OK;
}

status onnx_schema_check(const onnx_schema *s, const Onnx__NodeProto *n, int64_t version,
                         error *err)
{
    if (n->base.n_unknown_fields)
        return FAIL(err, E_UNSUPPORTED, "it has field %" PRIu32 ", which is not known here",
                    n->base.unknown_fields[0].tag);
    for (size_t i = 0; i < n->n_attribute; i++)
        TRY(check_attribute(s, n, i, version, err));
    TRY(check_required(s, n, err));
    TRY(check_ports(s, n->input, n->n_input, true, version, err));
    return check_ports(s, n->output, n->n_output, false, version, err);
}
