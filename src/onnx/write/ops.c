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
    return info->attr_bytes == 0 || (info->fields && info->fields->name);
}

/* Whether ONNX's operator of that name has all fields, and needs no input that ours lacks. */
static bool is_plain(const graph_op_info *info)
{
    const onnx_schema *s = onnx_schema_find("", info->name, WRITE_OPSET);
    onnx_attribute known;
    onnx_port more;
    if (!s || !is_described(info))
        return false;
    for (const attr_field *f = info->fields; f && f->name; f++)
        if (!onnx_schema_attribute(s, f->name, &known))
            return false;
    return !onnx_schema_port(s->inputs, (size_t)info->max_in, &more) || more.is_optional ||
           more.is_variadic;
}

static status write_plain(maker *m, const graph_node *n, error *err)
{
    (void)err;
    Onnx__NodeProto *node = write_same(m, n, 1);
    for (const attr_field *f = graph_op_of(n->op)->fields; f && f->name; f++) {
        if (f->type == ATTR_FLOAT)
            maker_float(m, node, f->name, schema_float(f, n->attr));
        else
            maker_int(m, node, f->name, schema_int(f, n->attr));
    }
    return OK;
}

write_fn *write_of(graph_op op)
{
    return rows[op] ? rows[op] : is_plain(graph_op_of(op)) ? write_plain : NULL;
}

Onnx__NodeProto *write_same(maker *m, const graph_node *n, int32_t n_out)
{
    size_t n_in = (size_t)n->n_in;
    const char **in = arena_alloc(m->memory, (n_in + 1) * sizeof *in);
    const char **out = arena_alloc(m->memory, (size_t)n_out * sizeof *out);
    for (int32_t i = 0; i < n->n_in; i++)
        in[i] = maker_in(m, n, i);
    for (int32_t i = 0; i < n_out; i++)
        out[i] = maker_out(m, n, i);
    return maker_node(m, graph_op_of(n->op)->name, in, n_in, out, (size_t)n_out);
}

status write_not_open(const graph_node *n, const char *what, error *err)
{
    return FAIL(err, E_UNSUPPORTED,
                "node '%s' (%s): %s changes with the size of the batch in a way that ONNX cannot "
                "say",
                n->name, graph_op_of(n->op)->name, what);
}
