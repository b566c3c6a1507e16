/* GRU. Output 3 keeps the gates of every step, for backward, and 4 the candidate's recurrent term.
 */
#include "graph/ops/recurrent.h"

const graph_op_info graph_op_gru = {
    OP_ROW(GRU),
    .name = "GRU",
    .attr_bytes = sizeof(recurrent_attr),
    .infer = recurrent_infer,
    .grad = recurrent_grad,
    .flops = recurrent_flops,
};

const graph_op_info graph_op_gru_bwd = {
    OP_ROW(GRU_BWD),
    .name = "GRUBwd",
    .attr_bytes = sizeof(recurrent_attr),
    .infer = recurrent_infer_bwd,
    .flops = recurrent_flops_bwd,
};
