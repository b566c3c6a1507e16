/*
 * LSTM, GRU and RNN, forward and backward, as their kernels take them: sizes and what the attributes say,
 * worked out of a node whose shape rule has passed. Pure functions.
 */
#ifndef TEQUIO_GRAPH_RECURRENT_FORM_H
#define TEQUIO_GRAPH_RECURRENT_FORM_H

#include "graph/attrs.h"

typedef struct recurrent_form {
    graph_op cell;              /* OP_LSTM, OP_GRU or OP_RNN; of a gradient too */
    int64_t steps, batch, inputs, hidden, directions;
    int64_t gates;              /* 4, 3, 1 */
    bool linear_before_reset;   /* GRU */
    bool relu;                  /* RNN */
    bool wide_lengths;          /* int64 */
    bool reverse_only;          /* its single direction begins at the last step */
} recurrent_form;

graph_op recurrent_cell_of(graph_op op);
int64_t recurrent_gates_of(graph_op op);
recurrent_form recurrent_form_of(const graph *g, const graph_node *n);

#endif
