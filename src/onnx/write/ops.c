#include "onnx/write/ops.h"

#include "graph/schema.h"
#include "onnx/schema.h"

static write_fn *const rows[OP_COUNT] = {
#define WRITE(ID, function) [OP_##ID] = function,
#include "onnx/write/ops.def"
#undef WRITE
};

static bool is_described(const graph_op_info *info)
{
    return info->attr_bytes == 0 || (info->fields && schema_says_all(info->fields));
}

/* Whether ONNX's operator of that name can say all fields, and reads no more than ours: what it reads
 * is an attribute here. */
static bool is_plain(const graph_op_info *info, const graph_node *n)
{
    const onnx_schema *s = onnx_schema_find("", info->name, WRITE_OPSET);
    onnx_attribute known;
    onnx_port more;
    if (!s || !is_described(info))
        return false;
    for (const attr_field *f = info->fields; f && f->name; f++)
        if (!onnx_schema_attribute(s, f->name, &known) && !schema_is_default(f, n->attr))
            return false;
    return !onnx_schema_port(s->inputs, (size_t)info->max_in, &more) || more.is_variadic;
}

static status write_plain(maker *m, const graph_node *n, error *err)
{
    (void)err;
    write_fields(m, n, write_same(m, n, 1));
    return OK;
}

write_fn *write_of(const graph_node *n)
{
    return rows[n->op] ? rows[n->op] : is_plain(graph_op_of(n->op), n) ? write_plain : NULL;
}
