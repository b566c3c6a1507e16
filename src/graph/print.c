#include "graph/print.h"

#include <inttypes.h>

static void print_type(const graph_value *v, buf *out)
{
    char text[SHAPE_TEXT];
    buf_addf(out, "%s %s%s", dtype_name(v->dtype), graph_shape_text(&v->shape, text, sizeof text),
             v->keep ? "*" : "");
}

static void print_outer(const graph *g, const graph_value *v, buf *out)
{
    static const char *const kinds[] = {
        [VAL_INPUT] = "input", [VAL_PARAM] = "param", [VAL_CONST] = "const"};
    static const char *const uses[] = {
        [TENSOR_TRAINABLE] = "trainable", [TENSOR_STATE] = "state", [TENSOR_FROZEN] = "frozen"};
    buf_addf(out, "%s %s ", kinds[v->kind], v->name);
    print_type(v, out);
    if (v->kind == VAL_PARAM)
        buf_addf(out, " %s", uses[v->param->kind]);
    if (v->grad != GRAPH_NONE)
        buf_addf(out, ", gradient %s", graph_value_at(g, v->grad)->name);
    buf_adds(out, "\n");
}

static void print_node(const graph *g, int32_t node, buf *out)
{
    const graph_node *n = graph_node_at(g, node);
    buf_addf(out, "%" PRId32 " %s = %s(", node, n->name, graph_op_of(n->op)->name);
    for (int32_t i = 0; i < n->n_in; i++)
        buf_addf(out, "%s%s", i ? ", " : "",
                 n->in[i] == GRAPH_NONE ? "-" : graph_value_at(g, n->in[i])->name);
    buf_adds(out, ") -> ");
    for (int32_t i = 0; i < n->n_out; i++) {
        buf_adds(out, i ? ", " : "");
        if (n->out[i] == GRAPH_NONE)
            buf_adds(out, "-");
        else
            print_type(graph_value_at(g, n->out[i]), out);
    }
    buf_adds(out, "\n");
}

void graph_print(const graph *g, buf *out)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_TEMP)
            print_outer(g, value, out);
    }
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        print_node(g, i, out);
}
