/* Networks through time, in ONNX. */
#include "onnx/write/ops.h"

/* All states, and those at the ends; what backward needs beside is not ONNX's. */
status write_lstm(maker *m, const graph_node *n, error *err)
{
    static const char *const directions[] = {
        [RECURRENT_FORWARD] = "forward", [RECURRENT_REVERSE] = "reverse", [RECURRENT_BOTH] = "bidirectional"};
    (void)err;
    const recurrent_attr *a = n->attr;
    Onnx__NodeProto *node = write_same(m, n, write_outputs(n));
    maker_int(m, node, "hidden_size", a->hidden);
    maker_string(m, node, "direction", directions[a->direction]);
    return OK;
}
