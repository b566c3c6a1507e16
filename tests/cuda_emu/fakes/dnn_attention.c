/*
 * The graphs of attention that cuDNN knows, and nothing else: operation by operation, with the
 * types and forms of all tensors. They are those that NVIDIA's frontend makes (dnn_attention.h of
 * the backend).
 */
#include "cuda_emu/fakes/dnn.h"

#include "common/base/alloc.h"
#include "cuda_emu/fakes/dnn_flash.h"
#include "cuda_emu/fakes/stride.h"
#include "cuda_emu/machine.h"

#include <math.h>
#include <string.h>

enum { HEAD_STEP = 8, HEAD_MOST = 128, STEPS = 32, RANK = 4, NO_AXIS = 0 };

/* The tensors of a pattern: in memory, numbers, between. A name that ends in T has its last two
 * axes exchanged; K is the whole's alone. */
typedef enum name {
    NONE,
    Q, KT, K, V, VT, Y, DY, DQ, DK, DV, LSE, DELTA,
    SCALE, NOTHING, ONE,
    S, SCALED, QUERY, KEY, SEES, HIDDEN, MAX, BELOW, E, SUM, LOG, P,
    PRODUCTS, DOTS, PROBABLE, PT, EVERY_DV, DP, OVER, PLAIN, DS, DST, EVERY_DK, TRANSPOSED_BACK,
    NAMES
} name;

typedef struct step {
    unsigned kind, how;
    name x, b, t, y;
    int64_t axis;
} step;

/* --- patterns --- */

static step *add(step *to, unsigned kind, unsigned how, name x, name b, name y)
{
    *to = (step){kind, how, x, b, NONE, y, NO_AXIS};
    return to + 1;
}

/* `from` with what is hidden, or as it is; *ret is its name. */
static step *add_mask(step *to, bool causal, name from, name *ret)
{
    *ret = causal ? HIDDEN : from;
    if (!causal)
        return to;
    *to++ = (step){DNN_OP_POINTWISE, DNN_INDEX, from, NONE, NONE, QUERY, 2};
    *to++ = (step){DNN_OP_POINTWISE, DNN_INDEX, from, NONE, NONE, KEY, 3};
    *to++ = (step){DNN_OP_POINTWISE, DNN_GREATER_OR_EQUAL, QUERY, KEY, NONE, SEES, NO_AXIS};
    *to++ = (step){DNN_OP_POINTWISE, DNN_SELECT, from, NOTHING, SEES, HIDDEN, NO_AXIS};
    return to;
}

static int forward_pattern(step *ret, bool causal)
{
    name s;
    step *to = add(ret, DNN_OP_MATMUL, 0, Q, KT, S);
    to = add(to, DNN_OP_POINTWISE, DNN_MUL, S, SCALE, SCALED);
    to = add_mask(to, causal, SCALED, &s);
    to = add(to, DNN_OP_REDUCTION, DNN_REDUCE_MAX, s, NONE, MAX);
    to = add(to, DNN_OP_POINTWISE, DNN_SUB, s, MAX, BELOW);
    to = add(to, DNN_OP_POINTWISE, DNN_EXP, BELOW, NONE, E);
    to = add(to, DNN_OP_REDUCTION, DNN_REDUCE_ADD, E, NONE, SUM);
    to = add(to, DNN_OP_POINTWISE, DNN_LOG, SUM, NONE, LOG);
    to = add(to, DNN_OP_POINTWISE, DNN_ADD, MAX, LOG, LSE);
    to = add(to, DNN_OP_POINTWISE, DNN_DIV, E, SUM, P);
    to = add(to, DNN_OP_MATMUL, 0, P, V, Y);
    return (int)(to - ret);
}

/* y = x^T b by way of xt; where heads share keys, of all heads first. */
static step *add_gradient(step *to, bool shared, name x, name xt, name b, name every, name y)
{
    to = add(to, DNN_OP_RESHAPE, 0, x, NONE, xt);
    to = add(to, DNN_OP_MATMUL, 0, xt, b, shared ? every : y);
    return shared ? add(to, DNN_OP_REDUCTION, DNN_REDUCE_ADD, every, NONE, y) : to;
}

static int backward_pattern(step *ret, bool causal, bool shared)
{
    name below;
    step *to = add(ret, DNN_OP_POINTWISE, DNN_MUL, DY, Y, PRODUCTS);
    to = add(to, DNN_OP_REDUCTION, DNN_REDUCE_ADD, PRODUCTS, NONE, DOTS);
    to = add(to, DNN_OP_POINTWISE, DNN_MUL, DOTS, ONE, DELTA);
    to = add(to, DNN_OP_MATMUL, 0, Q, KT, S);
    to = add(to, DNN_OP_POINTWISE, DNN_MUL, S, SCALE, SCALED);
    to = add(to, DNN_OP_POINTWISE, DNN_SUB, SCALED, LSE, BELOW);
    to = add_mask(to, causal, BELOW, &below);
    to = add(to, DNN_OP_POINTWISE, DNN_EXP, below, NONE, PROBABLE);
    to = add_gradient(to, shared, PROBABLE, PT, DY, EVERY_DV, DV);
    to = add(to, DNN_OP_MATMUL, 0, DY, VT, DP);
    to = add(to, DNN_OP_POINTWISE, DNN_SUB, DP, DELTA, OVER);
    to = add(to, DNN_OP_POINTWISE, DNN_MUL, OVER, PROBABLE, PLAIN);
    to = add(to, DNN_OP_POINTWISE, DNN_MUL, PLAIN, SCALE, DS);
    to = add_gradient(to, shared, DS, DST, Q, EVERY_DK, DK);
    to = add(to, DNN_OP_RESHAPE, 0, KT, NONE, TRANSPOSED_BACK);
    to = add(to, DNN_OP_MATMUL, 0, DS, TRANSPOSED_BACK, DQ);
    return (int)(to - ret);
}

/* --- whether operations follow one --- */

typedef struct match {
    dnn_desc of[NAMES];
    int64_t batch, q_heads, kv_heads, q_length, k_length, head, v_head;
    unsigned half;
} match;

/* A name is one tensor, and another name another one. */
static bool is(match *m, name n, dnn_desc d)
{
    if (n == NONE || m->of[n])
        return m->of[n] == d;
    for (int i = 0; i < NAMES; i++)
        if (d && m->of[i] == d)
            return false;
    m->of[n] = d;
    return d != NULL;
}

static bool follows_pointwise(match *m, const step *s, dnn_desc o)
{
    dnn_desc how = told_part(o, DNN_OP_POINTWISE_HOW);
    unsigned precision = s->how == DNN_INDEX              ? DNN_INT32
                         : s->how == DNN_GREATER_OR_EQUAL ? DNN_BOOL
                                                          : DNN_F32;
    return told_word(how, DNN_POINTWISE_MODE) == s->how &&
           told_word(how, DNN_POINTWISE_PRECISION) == precision &&
           told_number(how, DNN_POINTWISE_AXIS) == s->axis &&
           is(m, s->x, told_part(o, DNN_OP_POINTWISE_X)) &&
           is(m, s->b, told_part(o, DNN_OP_POINTWISE_B)) &&
           is(m, s->t, told_part(o, DNN_OP_POINTWISE_T)) &&
           is(m, s->y, told_part(o, DNN_OP_POINTWISE_Y));
}

/* Over heads, and of the dots that gradients are made of, in one order. */
static bool follows_reduction(match *m, const step *s, dnn_desc o)
{
    dnn_desc how = told_part(o, DNN_OP_REDUCTION_HOW);
    bool in_order = s->y == DOTS || s->y == DK || s->y == DV;
    return told_word(how, DNN_REDUCTION_OPERATOR) == s->how &&
           told_word(how, DNN_REDUCTION_TYPE) == DNN_F32 &&
           told_flag(how, DNN_REDUCTION_IS_DETERMINISTIC) == in_order &&
           is(m, s->x, told_part(o, DNN_OP_REDUCTION_X)) &&
           is(m, s->y, told_part(o, DNN_OP_REDUCTION_Y));
}

static bool follows(match *m, const step *s, dnn_desc o)
{
    if (told_kind(o) != s->kind)
        return false;
    switch (s->kind) {
    case DNN_OP_POINTWISE:
        return follows_pointwise(m, s, o);
    case DNN_OP_REDUCTION:
        return follows_reduction(m, s, o);
    case DNN_OP_RESHAPE:
        return is(m, s->x, told_part(o, DNN_OP_RESHAPE_X)) &&
               is(m, s->y, told_part(o, DNN_OP_RESHAPE_Y));
    default:
        return told_word(told_part(o, DNN_OP_MATMUL_HOW), DNN_MATMUL_TYPE) == DNN_F32 &&
               is(m, s->x, told_part(o, DNN_OP_MATMUL_A)) &&
               is(m, s->b, told_part(o, DNN_OP_MATMUL_B)) &&
               is(m, s->y, told_part(o, DNN_OP_MATMUL_C));
    }
}

static bool follow_all(match *m, const step *steps, int n_steps, const dnn_desc o[], int64_t n)
{
    *m = (match){.batch = 0};
    bool all = n == n_steps;
    for (int i = 0; i < n_steps && all; i++)
        all = follows(m, &steps[i], o[i]);
    return all;
}

static bool is_whole(match *m, const dnn_desc o[], int64_t n)
{
    *m = (match){.batch = 0};
    return n == 1 && told_kind(o[0]) == DNN_OP_SDPA && is(m, Q, told_part(o[0], DNN_OP_SDPA_Q)) &&
           is(m, K, told_part(o[0], DNN_OP_SDPA_K)) && is(m, V, told_part(o[0], DNN_OP_SDPA_V)) &&
           is(m, Y, told_part(o[0], DNN_OP_SDPA_Y)) &&
           is(m, LSE, told_part(o[0], DNN_OP_SDPA_STATISTICS)) &&
           is(m, SCALE, told_part(o[0], DNN_OP_SDPA_SCALE));
}

/* --- whether its tensors are what they have to be --- */

typedef enum lie {
    BY_ROW,
    BY_COLUMN,
    DENSE,
    DENSE_TRANSPOSED
} lie; /* BY_ROW: rows are neighbours */

static int64_t size_of(dnn_desc d, int axis)
{
    int64_t rank = 0;
    const int64_t *size = told_values(d, DNN_TENSOR_SHAPE, &rank);
    return d && rank == RANK ? size[axis] : 0;
}

static int64_t stride_of(dnn_desc d, int axis)
{
    int64_t rank = 0;
    const int64_t *stride = told_values(d, DNN_TENSOR_STRIDES, &rank);
    return rank == RANK ? stride[axis] : 0;
}

static bool lies(dnn_desc d, lie l)
{
    int rows = l == BY_COLUMN || l == DENSE_TRANSPOSED ? 3 : 2, columns = 5 - rows;
    if (stride_of(d, columns) != 1)
        return false;
    if (l == BY_ROW || l == BY_COLUMN)
        return stride_of(d, 0) % HEAD_STEP == 0 && stride_of(d, 1) % HEAD_STEP == 0 &&
               stride_of(d, rows) % HEAD_STEP == 0;
    return stride_of(d, rows) == size_of(d, columns) &&
           stride_of(d, 1) == size_of(d, 2) * size_of(d, 3) &&
           stride_of(d, 0) == size_of(d, 1) * stride_of(d, 1);
}

/* Whether the tensor of that name, if there is one, is so. */
static bool has(const match *m, name n, unsigned type, int64_t heads, int64_t rows, int64_t columns,
                lie l)
{
    dnn_desc d = m->of[n];
    if (!d)
        return true;
    return told_word(d, DNN_TENSOR_TYPE) == type && size_of(d, 0) == m->batch &&
           size_of(d, 1) == heads && size_of(d, 2) == rows && size_of(d, 3) == columns &&
           lies(d, l) && told_flag(d, DNN_TENSOR_IS_VIRTUAL) == (n > ONE) &&
           !told_flag(d, DNN_TENSOR_IS_BY_VALUE);
}

static bool are_pairs(const match *m, const name *names, size_t n, unsigned type, lie l)
{
    bool all = true;
    for (size_t i = 0; i < n; i++)
        all = all && (l == DENSE ? has(m, names[i], type, m->q_heads, m->q_length, m->k_length, l)
                                 : has(m, names[i], type, m->q_heads, m->k_length, m->q_length, l));
    return all;
}

static bool are_rows(const match *m)
{
    static const name rows[] = {LSE, DELTA, MAX, SUM, LOG, DOTS};
    bool all = true;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        all = all && has(m, rows[i], DNN_F32, m->q_heads, m->q_length, 1, DENSE);
    return all;
}

static bool are_numbers(const match *m)
{
    bool all = true;
    for (name n = SCALE; n <= ONE; n++) {
        dnn_desc d = m->of[n];
        all = all && (!d || (told_word(d, DNN_TENSOR_TYPE) == DNN_F32 && tensor_extent(d) == 4 &&
                             lies(d, DENSE) && told_flag(d, DNN_TENSOR_IS_BY_VALUE)));
    }
    return all;
}

static bool are_matrices(const match *m)
{
    int64_t hq = m->q_heads, hk = m->kv_heads, sq = m->q_length, sk = m->k_length;
    int64_t d = m->head, dv = m->v_head;
    return has(m, Q, m->half, hq, sq, d, BY_ROW) && has(m, DQ, m->half, hq, sq, d, BY_ROW) &&
           has(m, K, m->half, hk, sk, d, BY_ROW) && has(m, DK, m->half, hk, sk, d, BY_ROW) &&
           has(m, KT, m->half, hk, d, sk, BY_COLUMN) && has(m, V, m->half, hk, sk, dv, BY_ROW) &&
           has(m, VT, m->half, hk, dv, sk, BY_COLUMN) && has(m, DV, m->half, hk, sk, dv, BY_ROW) &&
           has(m, Y, m->half, hq, sq, dv, BY_ROW) && has(m, DY, m->half, hq, sq, dv, BY_ROW) &&
           has(m, TRANSPOSED_BACK, m->half, hk, sk, d, BY_ROW) &&
           has(m, PRODUCTS, DNN_F32, hq, sq, dv, DENSE) &&
           has(m, EVERY_DK, m->half, hq, sk, d, DENSE) &&
           has(m, EVERY_DV, m->half, hq, sk, dv, DENSE);
}

static bool is_head(int64_t n)
{
    return n > 0 && n % HEAD_STEP == 0 && n <= HEAD_MOST;
}

static bool is_attention(match *m)
{
    static const name floats[] = {S, SCALED, HIDDEN, BELOW, E, PROBABLE, DP, OVER, PLAIN, DS};
    static const name numbers[] = {QUERY, KEY}, transposed[] = {PT, DST};
    dnn_desc k = m->of[K] ? m->of[K] : m->of[KT], v = m->of[V] ? m->of[V] : m->of[VT];
    m->batch = size_of(m->of[Q], 0);
    m->q_heads = size_of(m->of[Q], 1);
    m->q_length = size_of(m->of[Q], 2);
    m->head = size_of(m->of[Q], 3);
    m->kv_heads = size_of(k, 1);
    m->k_length = size_of(k, m->of[K] ? 2 : 3);
    m->v_head = size_of(v, m->of[V] ? 3 : 2);
    m->half = told_word(m->of[Q], DNN_TENSOR_TYPE);
    return (m->half == DNN_BF16 || m->half == DNN_F16) && is_head(m->head) && is_head(m->v_head) &&
           m->kv_heads > 0 && m->q_heads % m->kv_heads == 0 && are_matrices(m) && are_rows(m) &&
           are_numbers(m) && are_pairs(m, floats, COUNT_OF(floats), DNN_F32, DENSE) &&
           are_pairs(m, numbers, COUNT_OF(numbers), DNN_INT32, DENSE) &&
           are_pairs(m, (name[]){SEES}, 1, DNN_BOOL, DENSE) &&
           are_pairs(m, (name[]){P}, 1, m->half, DENSE) &&
           are_pairs(m, transposed, COUNT_OF(transposed), m->half, DENSE_TRANSPOSED);
}

/* --- the problem --- */

static flash_matrix matrix_of(dnn_desc d, bool transposed)
{
    int rows = transposed ? 3 : 2;
    return (flash_matrix){.heads = size_of(d, 1),
                          .length = size_of(d, rows),
                          .width = size_of(d, 5 - rows),
                          .batch = stride_of(d, 0),
                          .head = stride_of(d, 1),
                          .position = stride_of(d, rows)};
}

/* In the order of flash_operand, then the others in memory, then numbers. */
static const name bound[] = {Q, K, V, Y, DY, DQ, DK, DV, LSE, DELTA, SCALE, NOTHING, ONE};
enum { AT_LSE = FLASH_OPERANDS, AT_DELTA, AT_SCALE, AT_NOTHING, AT_ONE };

static bool is_number(void *const *address, float x)
{
    return !*address || *(const float *)*address == x;
}

static void spoil_strides(flash_call *c)
{
    static const char *const places[FLASH_OPERANDS][3] = {
        {"batches of q", "heads of q", "rows of q"},
        {"batches of k", "heads of k", "rows of k"},
        {"batches of v", "heads of v", "rows of v"},
        {"batches of y", "heads of y", "rows of y"},
        {"batches of dy", "heads of dy", "rows of dy"},
        {"batches of dq", "heads of dq", "rows of dq"},
        {"batches of dk", "heads of dk", "rows of dk"},
        {"batches of dv", "heads of dv", "rows of dv"},
    };
    for (int i = 0; i < (c->backward ? FLASH_OPERANDS : FLASH_DY); i++) {
        flash_matrix *m = &c->of[i];
        m->batch = STRIDE(places[i][0], m->batch, c->batch > 1);
        m->head = STRIDE(places[i][1], m->head, m->heads > 1);
        m->position = STRIDE(places[i][2], m->position, m->length > 1);
    }
}

static void bind(dnn_problem *p, void *const addresses[], void *workspace)
{
    flash_call c;
    memcpy(&c, p->arguments, sizeof c);
    for (int i = 0; i < FLASH_OPERANDS; i++)
        c.of[i].at = addresses[i];
    c.lse = addresses[AT_LSE];
    c.delta = addresses[AT_DELTA];
    c.workspace = workspace;
    c.scale = *(const float *)addresses[AT_SCALE];
    spoil_strides(&c);
    if (!is_number(&addresses[AT_NOTHING], -INFINITY) || !is_number(&addresses[AT_ONE], 1.0f))
        emu_fault("cuDNN: attention with other numbers than it has to have");
    memcpy(p->arguments, &c, sizeof c);
}

static void fill(const match *m, dnn_problem *ret)
{
    _Static_assert(sizeof(flash_call) <= DNN_CALL_BYTES, "it fits");
    _Static_assert(COUNT_OF(bound) <= DNN_TENSORS, "they fit");
    flash_call c = {.backward = m->of[DY] != NULL,
                    .causal = m->of[SEES] != NULL,
                    .half = m->half,
                    .batch = m->batch};
    for (size_t i = 0; i < COUNT_OF(bound); i++) {
        dnn_desc d = m->of[bound[i]];
        bool transposed = !d && (bound[i] == K || bound[i] == V);
        ret->tensors[i] = transposed ? m->of[bound[i] == K ? KT : VT] : d;
        if (i < FLASH_OPERANDS && ret->tensors[i])
            c.of[i] = matrix_of(ret->tensors[i], transposed);
    }
    c.workspace_bytes = flash_workspace(&c);
    ret->name = c.backward ? "cuDNN's attention, backward" : "cuDNN's attention";
    ret->n_tensors = COUNT_OF(bound);
    ret->workspace = c.workspace_bytes;
    ret->bind = bind;
    ret->compute = flash_attend;
    ret->bytes = sizeof c;
    memcpy(ret->arguments, &c, sizeof c);
}

bool dnn_attention_of(const dnn_desc operations[], int64_t n, dnn_problem *ret)
{
    match m;
    step steps[STEPS];
    bool found = is_whole(&m, operations, n);
    for (int way = 0; way < 6 && !found; way++) {
        bool causal = way % 2;
        int n_steps =
            way < 2 ? forward_pattern(steps, causal) : backward_pattern(steps, causal, way >= 4);
        found = follow_all(&m, steps, n_steps, operations, n);
    }
    if (!found || !is_attention(&m))
        return false;
    fill(&m, ret);
    return true;
}
