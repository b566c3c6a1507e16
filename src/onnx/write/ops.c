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

static void write_field(maker *m, const graph_node *n, const attr_field *f, Onnx__NodeProto *node)
{
    char word[SCHEMA_WORD];
    if (f->type == ATTR_FLOAT)
        maker_float(m, node, f->name, (float)schema_float(f, n->attr));
    else if (schema_is_list(f))
        maker_ints(m, node, f->name, schema_list(f, (void *)n->attr),
                   (size_t)schema_length(f, maker_shape(m, n->in[0])->rank));
    else if (f->type != ATTR_WORD)
        maker_int(m, node, f->name, schema_int(f, n->attr));
    else if (schema_word(f, schema_int(f, n->attr), word))
        maker_string(m, node, f->name, word);
}

/* A list without a default is left out where it says nothing. */
static status write_plain(maker *m, const graph_node *n, error *err)
{
    (void)err;
    const graph_op_info *info = graph_op_of(n->op);
    const onnx_schema *s = onnx_schema_find("", info->name, WRITE_OPSET);
    onnx_attribute known;
    Onnx__NodeProto *node = write_same(m, n, 1);
    for (const attr_field *f = info->fields; f && f->name; f++)
        if (onnx_schema_attribute(s, f->name, &known) &&
            !(schema_is_list(f) && schema_is_default(f, n->attr)))
            write_field(m, n, f, node);
    return OK;
}

write_fn *write_of(const graph_node *n)
{
    return rows[n->op] ? rows[n->op] : is_plain(graph_op_of(n->op), n) ? write_plain : NULL;
}
