/* Operators that a graph has as they are: with ONNX's name, inputs, outputs and attributes. */
#include "onnx/ops.h"

#include <string.h>

enum { PLAIN_OUTPUTS = 8 };

static const graph_op_info *same_name(const call *c)
{
    graph_op op = 0;
    while (op < OP_COUNT && strcmp(graph_op_of(op)->name, c->node->op_type) != 0)
        op++;
    BUG_ON(op == OP_COUNT);
    return graph_op_of(op);
}

static int32_t count_inputs(const call *c, const graph_op_info *info)
{
    int32_t n = info->max_in == OP_MANY ? c->n_in : info->max_in;
    while (n > info->min_in && !call_has(c, n - 1))
        n--;
    return n;
}

status onnx_op_plain(call *c, error *err)
{
    const graph_op_info *info = same_name(c);
    BUG_ON(info->n_out > PLAIN_OUTPUTS);
    int32_t n_in = count_inputs(c, info);
    graph_val *in = arena_alloc(c->im->a, ((size_t)n_in + 1) * sizeof *in), out[PLAIN_OUTPUTS];
    void *attr = arena_alloc(c->im->a, info->attr_bytes);
    TRY(call_fields(c, info->op, attr, err));
    for (int32_t i = 0; i < n_in; i++) {
        in[i] = GRAPH_NONE;
        if (i < info->min_in || call_has(c, i))
            TRY(call_value(c, i, &in[i], err));
    }
    if (n_in == 2 && c->version < 7)
        TRY(call_align_operands(c, in, err));
    TRY(graph_add(c->im->g, info->op, c->name, in, n_in, attr, out, err));
    for (int32_t k = 0; k < info->n_out; k++)
        call_return(c, k, out[k]);
    return OK;
}
