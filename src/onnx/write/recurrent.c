/* Networks through time, in ONNX. */
#include "onnx/write/ops.h"

/* All states, and those at the ends; what backward needs beside is not ONNX's. */
status write_recurrent(maker *m, const graph_node *n, error *err)
{
    static const char *const directions[] = {
        [RECURRENT_FORWARD] = "forward", [RECURRENT_REVERSE] = "reverse", [RECURRENT_BOTH] = "bidirectional"};
    const recurrent_attr *a = n->attr;
    Onnx__NodeProto *node = write_same(m, n, write_outputs(n));
    maker_int(m, node, "hidden_size", a->hidden);
    maker_string(m, node, "direction", directions[a->direction]);
    if (n->op == OP_GRU)
        maker_int(m, node, "linear_before_reset", a->linear_before_reset);
    if (n->op == OP_RNN && a->relu)
        return FAIL(err, E_UNSUPPORTED, "node '%s' (RNN): with relu in place of tanh it is not exported", n->name);
    return OK;
}
