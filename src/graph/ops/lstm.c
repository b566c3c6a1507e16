/* LSTM, with peepholes. Output 3 keeps the gates and 4 the cells of every step, for backward. */
#include "graph/ops/recurrent.h"

const graph_op_info graph_op_lstm = {
    OP_ROW(LSTM),
    .name = "LSTM",
    .attr_bytes = sizeof(recurrent_attr),
    .infer = recurrent_infer,
    .grad = recurrent_grad,
    .flops = recurrent_flops,
};

const graph_op_info graph_op_lstm_bwd = {
    OP_ROW(LSTM_BWD),
    .name = "LSTMBwd",
    .attr_bytes = sizeof(recurrent_attr),
    .infer = recurrent_infer_bwd,
    .flops = recurrent_flops_bwd,
};
