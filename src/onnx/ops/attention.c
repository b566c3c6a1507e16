/* Attention and RotaryEmbedding of opset 23. */
#include "onnx/ops.h"

status onnx_op_attention(call *c, error *err)
{
    graph_val in[4] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    attention_attr attr = {.q_heads = call_int_or(c, "q_num_heads", 0),
                           .kv_heads = call_int_or(c, "kv_num_heads", 0),
                           .scale = (float)call_float_or(c, "scale", 0.0),
                           .causal = call_int(c, "is_causal") != 0};
    if (call_has(c, 4) || call_has(c, 5) || call_wants(c, 1) || call_wants(c, 2))
        return call_refuse(err, "keys and values of the past are not supported");
    if (call_wants(c, 3))
        return call_refuse(err, "its matrix of scores is read, but never kept whole");
    if (call_float(c, "softcap") != 0.0)
        return call_refuse(err, "softcap is not supported");
    for (int32_t i = 0; i < 4; i++)
        if (i < 3 || call_has(c, i))
            TRY(call_value(c, i, &in[i], err));
    return call_finish(c, OP_ATTENTION, in, 4, &attr, err);
}

/* Caches are of all positions, picked by position_ids, or those of the positions themselves. */
status onnx_op_rotary_embedding(call *c, error *err)
{
    graph_val in[3], ids = GRAPH_NONE;
    rotary_attr attr = {.heads = call_int_or(c, "num_heads", 0),
                        .width = call_int(c, "rotary_embedding_dim"),
                        .interleaved = call_int(c, "interleaved") != 0};
    for (int32_t i = 0; i < 3; i++)
        TRY(call_value(c, i, &in[i], err));
    if (call_has(c, 3))
        TRY(call_value(c, 3, &ids, err));
    for (int32_t i = 1; i < 3 && ids != GRAPH_NONE; i++) {
        graph_val picked[] = {in[i], ids};
        TRY(call_emit(c, OP_GATHER, picked, 2, &(gather_attr){.axis = 0}, &in[i], err));
    }
    return call_finish(c, OP_ROTARY_EMBEDDING, in, 3, &attr, err);
}
