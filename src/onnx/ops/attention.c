/*
 * Attention and RotaryEmbedding.
 *
 * What Attention says beside q, k and v becomes: past keys and values, a Concat; the end of each
 * sequence, a window, and causality that counts from that end, a mask. Softcap, and scores that are
 * an output, are written out in smaller operators, which keep all scores, for the operator of the
 * graph has neither.
 */
#include "onnx/ops.h"

#include <inttypes.h>

enum { PRECISION_FLOAT = 1, PRECISION_DOUBLE = 11 };

/* qk_matmul_output_mode: what output 3 is. */
typedef enum scores_mode {
    SCORES_PRODUCTS,
    SCORES_CAPPED,
    SCORES_MASKED,
    SCORES_PROBABILITIES,
    SCORES_MODES,
} scores_mode;

enum { IN_MASK = 3, IN_PAST_KEY, IN_PAST_VALUE, IN_LENGTHS };
enum { OUT_Y, OUT_KEY, OUT_VALUE, OUT_SCORES };

/* A node as its operands go along. */
typedef struct attention {
    call *c;
    attention_attr attr;
    bool scale_is_zero;      /* is given as such; 0 is the default's of the graph's operator */
    float softcap;
    scores_mode mode;
    int64_t left, right;     /* the window: keys before and behind a query's own place; -1: all */
    bool is_joined;          /* operands came as [B,S,H*D] */
    graph_val q, k, v, mask; /* mask: of bools or floats; GRAPH_NONE: none */
    graph_val ends;          /* int64 [B,1,1,1]: how many keys of each batch there are; or GRAPH_NONE */
    int64_t heads, q_length, k_length;
    int64_t past;            /* keys of the past, among k_length */
} attention;

static graph_shape shape4(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (graph_shape){4, {a, b, c, d}};
}

static status emit_2(call *c, graph_op op, graph_val a, graph_val b, graph_val *ret, error *err)
{
    return call_emit(c, op, (graph_val[]){a, b}, 2, NULL, ret, err);
}

static status emit_where(call *c, graph_val condition, graph_val a, graph_val b, graph_val *ret,
                         error *err)
{
    return call_emit(c, OP_WHERE, (graph_val[]){condition, a, b}, 3, NULL, ret, err);
}

static status emit_reshape(call *c, graph_val x, graph_shape shape, graph_val *ret, error *err)
{
    return call_emit(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = shape}, ret, err);
}

static status emit_number(call *c, float x, graph_val *ret, error *err)
{
    return graph_const(c->im->g, NULL, DT_F32, (graph_shape){.rank = 0}, &x, ret, err);
}

static const transpose_attr exchange_middle = {.perm = {0, 2, 1, 3}};

static bool is_written_out(const attention *a)
{
    return a->softcap > 0.0f || a->scale_is_zero || call_wants(a->c, OUT_SCORES);
}

/* --- operands --- */

/* [B,S,H*D] to [B,H,S,D] */
static status split_heads(call *c, int64_t heads, graph_val *x, error *err)
{
    graph_shape s = call_shape_of(c, *x);
    if (s.rank == 4)
        return OK;
    if (s.rank != 3 || heads < 1 || s.dim[2] % heads != 0)
        return FAIL(err, E_DATA, "its operand %s does not divide into %" PRId64 " heads",
                    graph_shape_text(&s, (char[SHAPE_TEXT]){0}, SHAPE_TEXT), heads);
    TRY(emit_reshape(c, *x, shape4(s.dim[0], s.dim[1], heads, s.dim[2] / heads), x, err));
    return call_emit(c, OP_TRANSPOSE, x, 1, &exchange_middle, x, err);
}

static status split_all_heads(attention *a, error *err)
{
    TRY(split_heads(a->c, a->attr.q_heads, &a->q, err));
    TRY(split_heads(a->c, a->attr.kv_heads, &a->k, err));
    return split_heads(a->c, a->attr.kv_heads, &a->v, err);
}

static status append_to_past(attention *a, error *err)
{
    graph_val past[2], *now[] = {&a->k, &a->v};
    for (int i = 0; i < 2; i++) {
        graph_shape shape;
        TRY(call_value(a->c, IN_PAST_KEY + i, &past[i], err));
        shape = call_shape_of(a->c, past[i]);
        if (shape.rank != 4)
            return FAIL(err, E_DATA, "the keys and values of its past have %d axes, must have 4",
                        (int)shape.rank);
        if (i == 0)
            a->past = shape.dim[2];
        TRY(call_emit(a->c, OP_CONCAT, (graph_val[]){past[i], *now[i]}, 2, &(axis_attr){.axis = 2},
                      now[i], err));
    }
    return OK;
}

static status take_operands(attention *a, error *err)
{
    call *c = a->c;
    bool has_past = call_has(c, IN_PAST_KEY);
    graph_val *const in[] = {&a->q, &a->k, &a->v};
    for (int i = 0; i < 3; i++)
        TRY(call_value(c, i, in[i], err));
    a->is_joined = call_shape_of(c, a->q).rank == 3;
    if (has_past != call_has(c, IN_PAST_VALUE))
        return FAIL(err, E_DATA, "it has past_key or past_value alone");
    if (has_past && call_has(c, IN_LENGTHS))
        return FAIL(err, E_DATA, "nonpad_kv_seqlen does not go with keys of the past");
    bool is_read = call_wants(c, OUT_KEY) || call_wants(c, OUT_VALUE);
    if (has_past || is_read || is_written_out(a))
        TRY(split_all_heads(a, err));
    if (has_past)
        TRY(append_to_past(a, err));
    if (call_wants(c, OUT_KEY))
        call_return(c, OUT_KEY, a->k);
    if (call_wants(c, OUT_VALUE))
        call_return(c, OUT_VALUE, a->v);
    graph_shape q = call_shape_of(c, a->q), k = call_shape_of(c, a->k);
    a->heads = q.rank == 4 ? q.dim[1] : a->attr.q_heads;
    a->q_length = q.dim[q.rank == 4 ? 2 : 1];
    a->k_length = k.dim[k.rank == 4 ? 2 : 1];
    return OK;
}

/* --- masks --- */

/* The mask of the node; keys that a shorter one does not know are not looked at. */
static status take_mask(attention *a, error *err)
{
    call *c = a->c;
    const float hidden = -__builtin_inff();
    TRY(call_value(c, IN_MASK, &a->mask, err));
    graph_shape rest = call_shape_of(c, a->mask);
    const graph_value *mask = call_at(c, a->mask);
    bool is_bool = mask->dtype == DT_BOOL;
    int32_t last = rest.rank - 1;
    /* of 1 key it is everyone's */
    if (last < 0 || rest.dim[last] >= a->k_length || (rest.dim[last] == 1 && c->version < 24))
        return OK;
    rest.dim[last] = a->k_length - rest.dim[last];
    graph_val none, both[2] = {a->mask};
    if (is_bool)
        TRY(graph_const(c->im->g, NULL, DT_BOOL, (graph_shape){.rank = 0}, &(bool){false}, &none,
                        err));
    else
        TRY(emit_number(c, hidden, &none, err));
    TRY(call_emit(c, OP_EXPAND, &none, 1, &(shape_attr){.shape = rest}, &both[1], err));
    return call_emit(c, OP_CONCAT, both, 2, &(axis_attr){.axis = last}, &a->mask, err);
}

/* Keys may only be looked at where the condition holds too. */
static status restrict_mask(attention *a, graph_val condition, error *err)
{
    graph_val hidden;
    if (a->mask == GRAPH_NONE) {
        a->mask = condition;
        return OK;
    }
    if (call_at(a->c, a->mask)->dtype == DT_BOOL)
        return emit_2(a->c, OP_AND, a->mask, condition, &a->mask, err);
    TRY(emit_number(a->c, -__builtin_inff(), &hidden, err));
    return emit_where(a->c, condition, a->mask, hidden, &a->mask, err);
}

/* first, first + 1, ... as int64 of this shape, of n elements. */
static status count_up(attention *a, int64_t first, int64_t n, graph_shape shape, graph_val *ret,
                       error *err)
{
    int64_t *x = arena_alloc(a->c->im->a, (size_t)(n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = first + i;
    return graph_const(a->c->im->g, NULL, DT_I64, shape, x, ret, err);
}

/* The last key that each query may look at if it looks `off` keys beyond its own place; queries are
 * the last of the keys that there are. */
static status reach(attention *a, int64_t off, graph_val *ret, error *err)
{
    bool by_batch = a->ends != GRAPH_NONE;
    int64_t before = by_batch ? -a->q_length : a->past;
    TRY(count_up(a, before + off, a->q_length, shape4(1, 1, a->q_length, 1), ret, err));
    return by_batch ? emit_2(a->c, OP_ADD, a->ends, *ret, ret, err) : OK;
}

/* Keys at most `off` beyond a query's place, or at least there. */
static status restrict_reach(attention *a, graph_val keys, graph_op order, int64_t off, error *err)
{
    graph_val last, holds;
    TRY(reach(a, off, &last, err));
    TRY(emit_2(a->c, order, keys, last, &holds, err));
    return restrict_mask(a, holds, err);
}

static status take_ends(attention *a, error *err)
{
    graph_val lengths;
    TRY(call_value(a->c, IN_LENGTHS, &lengths, err));
    int64_t batch = call_shape_of(a->c, a->q).dim[0];
    if (call_at(a->c, lengths)->dtype != DT_I64)
        return FAIL(err, E_DATA, "nonpad_kv_seqlen must be of int64");
    return emit_reshape(a->c, lengths, shape4(batch, 1, 1, 1), &a->ends, err);
}

/* All that hides keys, but for the operator's own causality. */
static status make_mask(attention *a, error *err)
{
    call *c = a->c;
    graph_val keys, holds;
    if (call_has(c, IN_MASK))
        TRY(take_mask(a, err));
    if (call_has(c, IN_LENGTHS))
        TRY(take_ends(a, err));
    if (a->ends == GRAPH_NONE && a->left < 0 && a->right < 0)
        return OK;
    TRY(count_up(a, 0, a->k_length, shape4(1, 1, 1, a->k_length), &keys, err));
    if (a->ends != GRAPH_NONE) {
        TRY(emit_2(c, OP_LESS, keys, a->ends, &holds, err));
        TRY(restrict_mask(a, holds, err));
    }
    if (a->left >= 0)
        TRY(restrict_reach(a, keys, OP_GREATER_OR_EQUAL, -a->left, err));
    if (a->right >= 0)
        TRY(restrict_reach(a, keys, OP_LESS_OR_EQUAL, a->right, err));
    if (a->attr.causal && a->ends != GRAPH_NONE) {
        TRY(restrict_reach(a, keys, OP_LESS_OR_EQUAL, 0, err));
        a->attr.causal = false;
    }
    return OK;
}

/* --- written out --- */

/* What is added to scores: 0 or minus infinity, or the mask's numbers. */
static status make_bias(attention *a, graph_val *ret, error *err)
{
    graph_val keys, zero, hidden;
    if (a->attr.causal) {
        TRY(count_up(a, 0, a->k_length, shape4(1, 1, 1, a->k_length), &keys, err));
        TRY(restrict_reach(a, keys, OP_LESS_OR_EQUAL, 0, err));
    }
    *ret = a->mask;
    if (a->mask == GRAPH_NONE || call_at(a->c, a->mask)->dtype != DT_BOOL)
        return OK;
    TRY(emit_number(a->c, 0.0f, &zero, err));
    TRY(emit_number(a->c, -__builtin_inff(), &hidden, err));
    return emit_where(a->c, a->mask, zero, hidden, ret, err);
}

/* Heads of queries that share one of keys, one below the other: [B,Hkv,Hq/Hkv*Sq,D], and back */
static status stack_heads(attention *a, graph_val x, graph_val *ret, error *err)
{
    graph_shape s = call_shape_of(a->c, x), k = call_shape_of(a->c, a->k);
    int64_t heads = k.dim[1] < 1 ? 1 : k.dim[1];
    return emit_reshape(a->c, x, shape4(s.dim[0], heads, s.dim[1] / heads * s.dim[2], s.dim[3]), ret,
                        err);
}

static status unstack_heads(attention *a, graph_val x, graph_val *ret, error *err)
{
    graph_shape s = call_shape_of(a->c, x);
    return emit_reshape(a->c, x, shape4(s.dim[0], a->heads, a->q_length, s.dim[3]), ret, err);
}

/* scale q k^T */
static status make_products(attention *a, graph_val *ret, error *err)
{
    graph_val stacked, scale;
    int64_t head = call_shape_of(a->c, a->q).dim[3];
    bool is_given = a->attr.scale != 0.0f || a->scale_is_zero;
    float by = is_given ? a->attr.scale : 1.0f / __builtin_sqrtf((float)head);
    TRY(emit_number(a->c, by, &scale, err));
    TRY(stack_heads(a, a->q, &stacked, err));
    TRY(call_emit(a->c, OP_MATMUL, (graph_val[]){stacked, a->k}, 2, &(matmul_attr){.trans_b = true},
                  ret, err));
    TRY(emit_2(a->c, OP_MUL, *ret, scale, ret, err));
    return unstack_heads(a, *ret, ret, err);
}

/* cap tanh(x / cap) */
static status cap(attention *a, graph_val x, graph_val *ret, error *err)
{
    graph_val by;
    TRY(emit_number(a->c, a->softcap, &by, err));
    TRY(emit_2(a->c, OP_DIV, x, by, ret, err));
    TRY(call_emit(a->c, OP_TANH, ret, 1, NULL, ret, err));
    return emit_2(a->c, OP_MUL, *ret, by, ret, err);
}

/* Of scores with their bias. Rows that may look at nothing are zero, and nothing flows back through
 * them: softmax does not see them. */
static status make_probabilities(attention *a, graph_val scores, graph_val bias, graph_val *ret,
                                 error *err)
{
    graph_val looks, zero, hidden;
    const axis_attr last = {.axis = -1};
    const reduce_attr over_keys = {.axes = {-1}, .n_axes = 1};
    if (bias == GRAPH_NONE)
        return call_emit(a->c, OP_SOFTMAX, &scores, 1, &last, ret, err);
    TRY(emit_number(a->c, 0.0f, &zero, err));
    TRY(emit_number(a->c, -__builtin_inff(), &hidden, err));
    TRY(call_emit(a->c, OP_REDUCE_MAX, &bias, 1, &over_keys, &looks, err));
    TRY(emit_2(a->c, OP_GREATER, looks, hidden, &looks, err));
    TRY(emit_where(a->c, looks, scores, zero, ret, err));
    TRY(call_emit(a->c, OP_SOFTMAX, ret, 1, &last, ret, err));
    return emit_where(a->c, looks, *ret, zero, ret, err);
}

/* y [B,Hq,Sq,Dv] */
static status write_out(attention *a, graph_val *ret, error *err)
{
    graph_val scores[SCORES_MODES], bias, stacked;
    TRY(make_bias(a, &bias, err));
    TRY(make_products(a, &scores[SCORES_PRODUCTS], err));
    scores[SCORES_CAPPED] = scores[SCORES_PRODUCTS];
    if (a->softcap > 0.0f)
        TRY(cap(a, scores[SCORES_PRODUCTS], &scores[SCORES_CAPPED], err));
    scores[SCORES_MASKED] = scores[SCORES_CAPPED];
    if (bias != GRAPH_NONE)
        TRY(emit_2(a->c, OP_ADD, scores[SCORES_CAPPED], bias, &scores[SCORES_MASKED], err));
    TRY(make_probabilities(a, scores[SCORES_MASKED], bias, &scores[SCORES_PROBABILITIES], err));
    if (call_wants(a->c, OUT_SCORES))
        call_return(a->c, OUT_SCORES, scores[a->mode]);
    TRY(stack_heads(a, scores[SCORES_PROBABILITIES], &stacked, err));
    TRY(emit_2(a->c, OP_MATMUL, stacked, a->v, ret, err));
    return unstack_heads(a, *ret, ret, err);
}

/* --- the node --- */

static status take_attributes(attention *a, error *err)
{
    call *c = a->c;
    int64_t mode = call_int(c, "qk_matmul_output_mode");
    int64_t precision = call_int_or(c, "softmax_precision", PRECISION_FLOAT);
    TRY(call_fields(c, OP_ATTENTION, &a->attr, err));
    a->scale_is_zero = a->attr.scale == 0.0f && call_attribute(c, "scale");
    a->softcap = (float)call_float(c, "softcap");
    a->left = c->version >= 25 ? call_int(c, "left_window_size") : -1;
    a->right = c->version >= 25 ? call_int(c, "right_window_size") : -1;
    if (mode < 0 || mode >= SCORES_MODES)
        return FAIL(err, E_DATA, "its qk_matmul_output_mode is %" PRId64 "; there are 0 to 3", mode);
    if (!(a->softcap >= 0.0f))
        return FAIL(err, E_DATA, "its softcap is %g, must not be below 0", (double)a->softcap);
    if (a->left < -1 || a->right < -1)
        return FAIL(err, E_DATA, "its window is %" PRId64 " and %" PRId64 ", must be -1 or more",
                    a->left, a->right);
    if (precision != PRECISION_FLOAT && precision != PRECISION_DOUBLE)
        return call_refuse(err, "softmax_precision=%" PRId64 ": probabilities are float32 here; "
                           "leave it out, or give 1", precision);
    a->mode = (scores_mode)mode;
    return OK;
}

status onnx_op_attention(call *c, error *err)
{
    graph_val y[2];
    attention a = {.c = c, .mask = GRAPH_NONE, .ends = GRAPH_NONE};
    TRY(take_attributes(&a, err));
    TRY(take_operands(&a, err));
    TRY(make_mask(&a, err));
    a.attr.past = a.attr.causal ? a.past : 0;
    const graph_val in[] = {a.q, a.k, a.v, a.mask};
    bool is_split = call_shape_of(c, a.q).rank == 4;
    if (!is_written_out(&a) && is_split != a.is_joined)
        return call_finish(c, OP_ATTENTION, in, 4, &a.attr, err);
    if (is_written_out(&a))
        TRY(write_out(&a, y, err));
    else
        TRY(call_emit(c, OP_ATTENTION, in, 4, &a.attr, y, err));
    graph_shape s = call_shape_of(c, y[0]);
    if (!a.is_joined)
        return call_finish(c, OP_RESHAPE, y, 1, &(shape_attr){.shape = s}, err);
    TRY(call_emit(c, OP_TRANSPOSE, y, 1, &exchange_middle, y, err));
    shape_attr joined = {.shape = {3, {s.dim[0], s.dim[2], s.dim[1] * s.dim[3]}}};
    return call_finish(c, OP_RESHAPE, y, 1, &joined, err);
}

/* Caches are of all positions, picked by position_ids, or those of the positions themselves. */
status onnx_op_rotary_embedding(call *c, error *err)
{
    graph_val in[3], ids = GRAPH_NONE;
    rotary_attr attr;
    TRY(call_fields(c, OP_ROTARY_EMBEDDING, &attr, err));
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
