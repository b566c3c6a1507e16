/* What the operators' files share when they write a node. */
#include "onnx/write/ops.h"

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

status write_not_open(const graph_node *n, const char *what, error *err)
{
    return FAIL(err, E_UNSUPPORTED,
                "node '%s' (%s): %s changes with the size of the batch in a way that ONNX cannot "
                "say",
                n->name, graph_op_of(n->op)->name, what);
}
