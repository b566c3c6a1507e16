/* LSTM, GRU and RNN; batch-first layouts are transposed around them. */
#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

/* The activations must be ONNX's own, `words` of them in each direction; an RNN may have Relu. */
static status read_activations(call *c, const char *const *words, size_t n, recurrent_attr *attr,
                               error *err)
{
    const Onnx__AttributeProto *a = call_attribute(c, "activations");
    size_t given = a ? a->n_strings : 0, n_relu = 0;
    for (size_t i = 0; i < given; i++) {
        const ProtobufCBinaryData *s = &a->strings[i];
        const char *wanted = words[i % n];
        bool is_own = s->len == strlen(wanted) && memcmp(s->data, wanted, s->len) == 0;
        bool is_relu = n == 1 && s->len == 4 && memcmp(s->data, "Relu", 4) == 0;
        n_relu += is_relu;
        if (!is_own && !is_relu)
            return call_refuse(
                err, "its activation '%.*s' is not supported; Sigmoid, Tanh and, of RNN, Relu are",
                (int)s->len, (const char *)s->data);
    }
    if (n_relu > 0 && n_relu < given)
        return call_refuse(err,
                           "its directions have different activations; write them as two nodes");
    attr->relu = n_relu > 0;
    if (call_float_or(c, "clip", 0.0) > 0.0 || call_flag(c, "input_forget"))
        return call_refuse(err, "clip and input_forget are not supported; export it without them");
    return OK;
}

/* Axes 0 and 1, or for the result of all steps [S,D,B,H] to [B,S,D,H]. */
static status transpose(call *c, graph_val *v, bool all_steps, error *err)
{
    transpose_attr swap = {.perm = {1, 0, 2}}, behind = {.perm = {2, 0, 1, 3}};
    return call_emit(c, OP_TRANSPOSE, v, 1, all_steps ? &behind : &swap, v, err);
}

static status recurrent(call *c, graph_op op, int32_t most, const char *const *words, size_t n,
                        error *err)
{
    graph_val in[8], out[RECURRENT_OUT];
    recurrent_attr attr;
    bool batch_first = call_flag(c, "layout");
    TRY(call_fields(c, op, &attr, err));
    TRY(read_activations(c, words, n, &attr, err));
    for (int32_t i = 0; i < most; i++) {
        in[i] = GRAPH_NONE;
        bool turns = i == RECURRENT_X || i == RECURRENT_H0 || i == RECURRENT_C0;
        if (i <= RECURRENT_R || call_has(c, i))
            TRY(call_value(c, i, &in[i], err));
        if (batch_first && turns && in[i] != GRAPH_NONE)
            TRY(transpose(c, &in[i], false, err));
    }
    TRY(graph_add(c->im->g, op, NULL, in, most, &attr, out, err));
    for (int32_t k = 0; k < 3 && k < c->n_out; k++) {
        if (!call_wants(c, k))
            continue;
        if (batch_first)
            TRY(transpose(c, &out[k], k == 0, err));
        call_return(c, k, out[k]);
    }
    return OK;
}

status onnx_op_lstm(call *c, error *err)
{
    static const char *const words[] = {"Sigmoid", "Tanh", "Tanh"};
    return recurrent(c, OP_LSTM, 8, words, COUNT_OF(words), err);
}

status onnx_op_gru(call *c, error *err)
{
    static const char *const words[] = {"Sigmoid", "Tanh"};
    return recurrent(c, OP_GRU, 6, words, COUNT_OF(words), err);
}

status onnx_op_rnn(call *c, error *err)
{
    static const char *const words[] = {"Tanh"};
    return recurrent(c, OP_RNN, 6, words, COUNT_OF(words), err);
}
