/* RNN: one layer of tanh or relu. Its states are its output, so backward needs no other. */
#include "graph/ops/recurrent.h"

const graph_op_info graph_op_rnn = {
    OP_ROW(RNN),
    .name = "RNN",
    .attr_bytes = sizeof(recurrent_attr),
    .infer = recurrent_infer,
    .grad = recurrent_grad,
    .flops = recurrent_flops,
};

const graph_op_info graph_op_rnn_bwd = {
    OP_ROW(RNN_BWD),
    .name = "RNNBwd",
    .attr_bytes = sizeof(recurrent_attr),
    .infer = recurrent_infer_bwd,
    .flops = recurrent_flops_bwd,
};
