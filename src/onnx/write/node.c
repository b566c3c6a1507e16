/* What the operators' files share when they write a node. */
#include "onnx/write/ops.h"

#include "graph/schema.h"
#include "onnx/schema.h"

int32_t write_outputs(const graph_node *n)
{
    return n->op == OP_LSTM || n->op == OP_GRU || n->op == OP_RNN ? 2 : 1;
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
void write_fields(maker *m, const graph_node *n, Onnx__NodeProto *node)
{
    const graph_op_info *info = graph_op_of(n->op);
    const onnx_schema *s = onnx_schema_find("", info->name, WRITE_OPSET);
    onnx_attribute known;
    for (const attr_field *f = info->fields; f && f->name; f++)
        if (onnx_schema_attribute(s, f->name, &known) &&
            !(schema_is_list(f) && schema_is_default(f, n->attr)))
            write_field(m, n, f, node);
}

status write_not_known(const graph_node *n, const char *what, error *err)
{
    return FAIL(err, E_UNSUPPORTED, "node '%s' (%s): opset %d does not have %s", n->name, graph_op_of(n->op)->name,
                WRITE_OPSET, what);
}

status write_not_open(const graph_node *n, const char *what, error *err)
{
    return FAIL(err, E_UNSUPPORTED,
                "node '%s' (%s): %s changes with the size of the batch in a way that ONNX cannot "
                "say",
                n->name, graph_op_of(n->op)->name, what);
}
