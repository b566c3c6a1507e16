#include "graph/recurrent_form.h"

graph_op recurrent_cell_of(graph_op op)
{
    switch (op) {
    case OP_LSTM_BWD:
        return OP_LSTM;
    case OP_GRU_BWD:
        return OP_GRU;
    case OP_RNN_BWD:
        return OP_RNN;
    default:
        return op;
    }
}

int64_t recurrent_gates_of(graph_op op)
{
    graph_op cell = recurrent_cell_of(op);
    return cell == OP_LSTM ? 4 : cell == OP_GRU ? 3 : 1;
}

recurrent_form recurrent_form_of(const graph *g, const graph_node *n)
{
    const recurrent_attr *a = n->attr;
    const graph_shape *x = &graph_value_at(g, n->in[RECURRENT_X])->shape;
    graph_val lengths = n->in[RECURRENT_LENGTHS];
    return (recurrent_form){
        .cell = recurrent_cell_of(n->op),
        .steps = x->dim[0],
        .batch = x->dim[1],
        .inputs = x->dim[2],
        .hidden = a->hidden,
        .directions = a->direction == RECURRENT_BOTH ? 2 : 1,
        .gates = recurrent_gates_of(n->op),
        .linear_before_reset = a->linear_before_reset,
        .relu = a->relu,
        .wide_lengths = lengths != GRAPH_NONE && graph_value_at(g, lengths)->dtype == DT_I64,
        .reverse_only = a->direction == RECURRENT_REVERSE,
    };
}
