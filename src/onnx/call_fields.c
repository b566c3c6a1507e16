/* The fields of a graph's operator, from the attributes of a node under translation: see call.h. */
#include "graph/schema.h"
#include "onnx/call.h"

#include <inttypes.h>
#include <string.h>

static status read_word(call *c, const attr_field *f, void *attr, error *err)
{
    const char *said = call_str(c, f->name);
    int64_t at = schema_word_at(f, said);
    if (at < 0)
        return call_refuse(err, "its %s is '%s', which is none of: %s", f->name, said, f->words);
    schema_set_int(f, attr, at);
    return OK;
}

static status read_list(call *c, const attr_field *f, void *attr, error *err)
{
    graph_shape x;
    dtype t;
    int64_t given[2 * SPATIAL];
    TRY(call_describe(c, 0, &x, &t, err));
    if (x.rank < 3 || x.rank > 2 + SPATIAL)
        return call_refuse(err, "it slides over %" PRId32 " axes; 1 to %d are supported",
                           x.rank - 2, SPATIAL);
    int32_t wanted = schema_length(f, x.rank), n = call_ints(c, f->name, given, 2 * SPATIAL);
    if (n >= 0 && n != wanted)
        return FAIL(err, E_DATA, "its attribute '%s' has %" PRId32 " numbers, needs %" PRId32,
                    f->name, n, wanted);
    for (int32_t i = 0; i < n; i++)
        schema_list(f, attr)[i] = given[i];
    return OK;
}

/* Whether ONNX says what holds without it, of which an opset may have another idea than the next, or
 * that it must be there. */
static bool is_settled(const call *c, const attr_field *f)
{
    onnx_attribute known;
    return onnx_schema_any_attribute(c->schema, f->name, &known, NULL) &&
           (known.has_default || known.is_required);
}

status call_fields(call *c, graph_op op, void *ret_attr, error *err)
{
    const graph_op_info *info = graph_op_of(op);
    memset(ret_attr, 0, info->attr_bytes);
    schema_set_defaults(info->fields, ret_attr);
    for (const attr_field *f = info->fields; f && f->name; f++) {
        if (schema_is_of_graph(f) || !call_knows(c, f->name))
            continue;
        if (f->type == ATTR_WORD)
            TRY(read_word(c, f, ret_attr, err));
        else if (schema_is_list(f))
            TRY(read_list(c, f, ret_attr, err));
        else if (f->type == ATTR_FLOAT)
            schema_set_float(f, ret_attr, is_settled(c, f) ? call_float(c, f->name)
                                                           : call_float_or(c, f->name, f->otherwise));
        else if (is_settled(c, f))
            schema_set_int(f, ret_attr, call_int(c, f->name));
        else
            schema_set_int(f, ret_attr, call_int_or(c, f->name, (int64_t)f->otherwise));
    }
    return OK;
}
