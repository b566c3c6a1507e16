/*
 * Layers of language models that carry a state from position to position: CausalConvWithState and
 * LinearAttention (https://onnx.ai/onnx/operators/), the latter unrolled over its positions.
 */
#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_POSITIONS = 1024 }; /* a dozen nodes each */

static status two(call *c, graph_op op, graph_val a, graph_val b, graph_val *ret, error *err)
{
    return call_emit(c, op, (graph_val[]){a, b}, 2, NULL, ret, err);
}

static status reshape(call *c, const graph_shape *s, graph_val *v, error *err)
{
    return call_emit(c, OP_RESHAPE, v, 1, &(shape_attr){.shape = *s}, v, err);
}

static status cut(call *c, graph_val x, int32_t axis, int64_t begin, int64_t end, graph_val *ret,
                  error *err)
{
    slice_attr attr = {.n_axes = 1, .axes = {axis}, .begin = {begin}, .end = {end}, .step = {1}};
    return call_emit(c, OP_SLICE, &x, 1, &attr, ret, err);
}

static status zeros(call *c, const graph_shape *s, graph_val *ret, error *err)
{
    host_tensor *h;
    TRY(host_create(c->im->a, DT_F32, s, &h, err));
    return graph_const(c->im->g, NULL, DT_F32, h->shape, h->data, ret, err);
}

/* --- CausalConvWithState --- */

/* The positions before, and those of now. */
static status with_past(call *c, int64_t before, graph_val *ret, error *err)
{
    graph_val in[2];
    TRY(call_value(c, 0, &in[1], err));
    graph_shape x = call_shape_of(c, in[1]);
    *ret = in[1];
    if (before == 0)
        return OK;
    if (call_has(c, 3))
        TRY(call_value(c, 3, &in[0], err));
    else
        TRY(zeros(c, &(graph_shape){3, {x.dim[0], x.dim[1], before}}, &in[0], err));
    return call_emit(c, OP_CONCAT, in, 2, &(axis_attr){.axis = 2}, ret, err);
}

status onnx_op_causal_conv_with_state(call *c, error *err)
{
    graph_val in[3] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE}, y, last;
    const char *activation = call_str(c, "activation");
    bool silu = strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
    graph_shape x, w;
    dtype t;
    if (!silu && strcmp(activation, "none") != 0)
        return FAIL(err, E_DATA, "its activation is '%s'; there are none, silu and swish",
                    activation);
    TRY(call_describe(c, 0, &x, &t, err));
    TRY(call_value(c, 1, &in[1], err));
    w = call_shape_of(c, in[1]);
    if (x.rank != 3 || w.rank != 3 || w.dim[1] != 1 || w.dim[0] != x.dim[1] || w.dim[2] < 1)
        return FAIL(err, E_DATA,
                    "its input and weights are not [batch,channels,length] and "
                    "[channels,1,k]");
    TRY(with_past(c, w.dim[2] - 1, &in[0], err));
    if (call_has(c, 2))
        TRY(call_value(c, 2, &in[2], err));
    conv_attr attr = {.strides = {1}, .dilations = {1}, .group = x.dim[1]};
    TRY(call_emit(c, OP_CONV, in, 3, &attr, &y, err));
    if (silu)
        TRY(call_emit(c, OP_SWISH, &y, 1, &(unary_attr){.alpha = 1.0f}, &y, err));
    call_return(c, 0, y);
    if (!call_wants(c, 1))
        return OK;
    int64_t length = call_shape_of(c, in[0]).dim[2];
    TRY(cut(c, in[0], 2, length - (w.dim[2] - 1), length, &last, err));
    call_return(c, 1, last);
    return OK;
}

/* --- LinearAttention --- */

/* Operands as [batch, key heads, positions, ...]: queries [.., group, d_k], keys and decay [.., 1,
 * d_k], values [.., 1, d_v], beta [.., 1, 1]. */
typedef struct linear {
    call *c;
    int64_t batch, positions, heads, group, d_k, d_v;
    graph_val query, key, value, decay, beta, state;
    float scale;
} linear;

/* Input i [batch, positions, heads * rows * width] -> [batch, heads, positions, rows, width] */
static status unpack(linear *l, int32_t i, int64_t heads, int64_t rows, graph_val *ret, error *err)
{
    static const transpose_attr heads_first = {.perm = {0, 2, 1, 3, 4}};
    TRY(call_value(l->c, i, ret, err));
    graph_shape s = call_shape_of(l->c, *ret);
    if (s.rank != 3 || s.dim[0] != l->batch || s.dim[1] != l->positions ||
        s.dim[2] % (heads * rows) != 0)
        return FAIL(err, E_DATA, "its input %" PRId32 " does not fit its heads and its query", i);
    graph_shape apart = {5, {l->batch, l->positions, heads, rows, s.dim[2] / (heads * rows)}};
    TRY(reshape(l->c, &apart, ret, err));
    return call_emit(l->c, OP_TRANSPOSE, ret, 1, &heads_first, ret, err);
}

static status check_rule(call *c, bool *ret_gates, bool *ret_corrects, error *err)
{
    const char *rule = call_str(c, "update_rule");
    *ret_gates = strcmp(rule, "gated") == 0 || strcmp(rule, "gated_delta") == 0;
    *ret_corrects = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;
    if (!*ret_gates && !*ret_corrects && strcmp(rule, "linear") != 0)
        return FAIL(err, E_DATA,
                    "its update_rule is '%s'; there are linear, gated, delta and "
                    "gated_delta",
                    rule);
    if (*ret_gates != call_has(c, 4) || *ret_corrects != call_has(c, 5))
        return FAIL(err, E_DATA, "with the update_rule '%s' its decay must be %s and its beta %s",
                    rule, *ret_gates ? "there" : "absent", *ret_corrects ? "there" : "absent");
    return OK;
}

static status read_operands(linear *l, error *err)
{
    call *c = l->c;
    bool gates, corrects;
    graph_shape q;
    dtype t;
    int64_t q_heads = call_int(c, "q_num_heads");
    l->heads = call_int(c, "kv_num_heads");
    TRY(check_rule(c, &gates, &corrects, err));
    TRY(call_describe(c, 0, &q, &t, err));
    if (q.rank != 3 || l->heads < 1 || q_heads < 1 || q_heads % l->heads != 0)
        return FAIL(err, E_DATA,
                    "its query has %" PRId32 " axes and %" PRId64 " heads for %" PRId64, q.rank,
                    q_heads, l->heads);
    l->batch = q.dim[0];
    l->positions = q.dim[1];
    l->group = q_heads / l->heads;
    if (l->positions < 1 || l->positions > MOST_POSITIONS)
        return call_refuse(err, "it has %" PRId64 " positions; 1 to %d are unrolled", l->positions,
                           MOST_POSITIONS);
    TRY(unpack(l, 0, l->heads, l->group, &l->query, err));
    TRY(unpack(l, 1, l->heads, 1, &l->key, err));
    TRY(unpack(l, 2, l->heads, 1, &l->value, err));
    l->d_k = call_shape_of(c, l->key).dim[4];
    l->d_v = call_shape_of(c, l->value).dim[4];
    l->decay = l->beta = GRAPH_NONE;
    if (gates)
        TRY(unpack(l, 4, l->heads, 1, &l->decay, err));
    if (corrects) {
        TRY(call_describe(c, 5, &q, &t, err));
        TRY(unpack(l, 5, q.rank == 3 && q.dim[2] == 1 ? 1 : l->heads, 1, &l->beta, err));
    }
    return OK;
}

/* Position i of an operand: without the axis of positions. */
static status at(const linear *l, graph_val v, int64_t i, graph_val *ret, error *err)
{
    TRY(cut(l->c, v, 2, i, i + 1, ret, err));
    graph_shape s = call_shape_of(l->c, *ret);
    return reshape(l->c, &(graph_shape){4, {s.dim[0], s.dim[1], s.dim[3], s.dim[4]}}, ret, err);
}

/* [.., 1, n] -> [.., n, 1] */
static status upright(const linear *l, graph_val v, graph_val *ret, error *err)
{
    static const transpose_attr swap = {.perm = {0, 1, 3, 2}};
    return call_emit(l->c, OP_TRANSPOSE, &v, 1, &swap, ret, err);
}

/* state = exp(decay) * state + key x (beta * (value - key state)); what query finds in it. */
static status turn(linear *l, int64_t i, graph_val *ret, error *err)
{
    call *c = l->c;
    graph_val query, key, value, by, found;
    TRY(at(l, l->query, i, &query, err));
    TRY(at(l, l->key, i, &key, err));
    TRY(at(l, l->value, i, &value, err));
    if (l->decay != GRAPH_NONE) {
        TRY(at(l, l->decay, i, &by, err));
        TRY(call_emit(c, OP_EXP, &by, 1, NULL, &by, err));
        TRY(upright(l, by, &by, err));
        TRY(two(c, OP_MUL, l->state, by, &l->state, err));
    }
    if (l->beta != GRAPH_NONE) {
        TRY(two(c, OP_MATMUL, key, l->state, &found, err));
        TRY(two(c, OP_SUB, value, found, &value, err));
        TRY(at(l, l->beta, i, &by, err));
        TRY(two(c, OP_MUL, value, by, &value, err));
    }
    TRY(upright(l, key, &key, err));
    TRY(two(c, OP_MUL, key, value, &by, err));
    TRY(two(c, OP_ADD, l->state, by, &l->state, err));
    return two(c, OP_MATMUL, query, l->state, ret, err);
}

/* Of each position [batch, heads, group, d_v] -> [batch, positions, heads * group * d_v] */
static status gather_positions(linear *l, const graph_val *each, error *err)
{
    call *c = l->c;
    graph_val *in = arena_alloc(c->im->a, (size_t)l->positions * sizeof *in), y, scale;
    int64_t width = l->heads * l->group * l->d_v;
    float by = l->scale;
    for (int64_t i = 0; i < l->positions; i++) {
        in[i] = each[i];
        TRY(reshape(c, &(graph_shape){3, {l->batch, 1, width}}, &in[i], err));
    }
    TRY(call_emit(c, OP_CONCAT, in, (int32_t)l->positions, &(axis_attr){.axis = 1}, &y, err));
    TRY(graph_const(c->im->g, NULL, DT_F32, (graph_shape){.rank = 0}, &by, &scale, err));
    return call_finish(c, OP_MUL, (graph_val[]){y, scale}, 2, NULL, err);
}

status onnx_op_linear_attention(call *c, error *err)
{
    linear l = {.c = c};
    call_ignore(c, "chunk_size"); /* how to go about it, not what comes out */
    TRY(read_operands(&l, err));
    double scale = call_float(c, "scale");
    l.scale = scale != 0.0 ? (float)scale : 1.0f / __builtin_sqrtf((float)l.d_k);
    if (call_has(c, 3))
        TRY(call_value(c, 3, &l.state, err));
    else
        TRY(zeros(c, &(graph_shape){4, {l.batch, l.heads, l.d_k, l.d_v}}, &l.state, err));
    graph_val *each = arena_alloc(c->im->a, (size_t)l.positions * sizeof *each);
    for (int64_t i = 0; i < l.positions; i++)
        TRY(turn(&l, i, &each[i], err));
    TRY(gather_positions(&l, each, err));
    call_return(c, 1, l.state);
    call_type(c, 1, call_element(c, call_has(c, 3) ? 3 : 0)->onnx);
    return OK;
}
