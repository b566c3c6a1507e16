/*
 * The graphs of attention that cuDNN knows, and nothing else: operation by operation (dnn_pattern.h), with the
 * types and forms of all tensors.
 */
#include "cuda_emu/fakes/dnn.h"

#include "common/base/alloc.h"
#include "cuda_emu/fakes/dnn_flash.h"
#include "cuda_emu/fakes/dnn_pattern.h"
#include "cuda_emu/fakes/stride.h"
#include "cuda_emu/machine.h"

#include <math.h>
#include <string.h>

enum { HEAD_STEP = 8, HEAD_MOST = 256, RANK = 4 };

/* --- whether operations follow one --- */

typedef struct match {
    dnn_desc of[NAMES];
    int64_t batch, q_heads, kv_heads, q_length, k_length, head, v_head;
    unsigned half;
    double kept; /* a share; 0: all */
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

static bool follows_rng(match *m, const step *s, dnn_desc o)
{
    dnn_desc how = told_part(o, DNN_OP_RNG_HOW);
    m->kept = told_double(how, DNN_RNG_PROBABILITY);
    return told_word(how, DNN_RNG_DISTRIBUTION) == DNN_BERNOULLI &&
           is(m, s->x, told_part(o, DNN_OP_RNG_SEED)) &&
           is(m, s->b, told_part(o, DNN_OP_RNG_OFFSET)) && is(m, s->y, told_part(o, DNN_OP_RNG_Y));
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
    case DNN_OP_RNG:
        return follows_rng(m, s, o);
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
           lies(d, l) && told_flag(d, DNN_TENSOR_IS_VIRTUAL) == (n > KEPT_SCALE) &&
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
    for (name n = SCALE; n <= KEPT_SCALE; n++) {
        dnn_desc d = m->of[n];
        all = all && (!d || (told_word(d, DNN_TENSOR_TYPE) == DNN_F32 && tensor_extent(d) == 4 &&
                             lies(d, DENSE) && told_flag(d, DNN_TENSOR_IS_BY_VALUE)));
    }
    return all;
}

/* Of each axis all, or 1. */
static bool is_mask(const match *m)
{
    const int64_t most[] = {m->batch, m->q_heads, m->q_length, m->k_length};
    dnn_desc d = m->of[BIAS];
    bool is_one = !d || (told_word(d, DNN_TENSOR_TYPE) == DNN_F32 && lies(d, DENSE) &&
                         !told_flag(d, DNN_TENSOR_IS_VIRTUAL) && !told_flag(d, DNN_TENSOR_IS_BY_VALUE));
    for (int i = 0; i < RANK; i++)
        is_one = is_one && (!d || size_of(d, i) == most[i] || size_of(d, i) == 1);
    return is_one;
}

/* 64 bits each, in memory. */
static bool are_seeds(const match *m)
{
    bool all = true;
    for (name n = SEED; n <= OFFSET; n++) {
        dnn_desc d = m->of[n];
        all = all && (!d || (told_word(d, DNN_TENSOR_TYPE) == DNN_INT64 && tensor_extent(d) == 8 &&
                             lies(d, DENSE) && !told_flag(d, DNN_TENSOR_IS_VIRTUAL) &&
                             !told_flag(d, DNN_TENSOR_IS_BY_VALUE)));
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
    static const name floats[] = {S,        SCALED, BIASED, HIDDEN, BELOW, E,     PROBABLE, KEPT,
                                  REST,     DROPPED, DP,    DP_KEPT, OVER, SMALL, PLAIN,    DS};
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
           are_numbers(m) && is_mask(m) && are_seeds(m) &&
           are_pairs(m, floats, COUNT_OF(floats), DNN_F32, DENSE) &&
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
static const name bound[] = {Q, K, V, Y, DY, DQ, DK, DV, LSE, DELTA, BIAS, SEED, OFFSET,
                             SCALE, NOTHING, KEPT_SHARE, KEPT_SCALE};
enum {
    AT_LSE = FLASH_OPERANDS,
    AT_DELTA,
    AT_BIAS,
    AT_SEED,
    AT_OFFSET,
    AT_SCALE,
    AT_NOTHING,
    AT_KEPT_SHARE,
    AT_KEPT_SCALE
};

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
    int64_t *by = c->bias.stride;
    by[0] = STRIDE("batches of the mask", by[0], by[0]);
    by[1] = STRIDE("heads of the mask", by[1], by[1]);
    by[2] = STRIDE("rows of the mask", by[2], by[2]);
    by[3] = STRIDE("keys of the mask", by[3], by[3]);
}

static void bind(dnn_problem *p, void *const addresses[], void *workspace)
{
    flash_call c;
    memcpy(&c, p->arguments, sizeof c);
    for (int i = 0; i < FLASH_OPERANDS; i++)
        c.of[i].at = addresses[i];
    c.lse = addresses[AT_LSE];
    c.delta = addresses[AT_DELTA];
    c.bias.at = addresses[AT_BIAS];
    c.seed = addresses[AT_SEED];
    c.offset = addresses[AT_OFFSET];
    c.workspace = workspace;
    c.scale = *(const float *)addresses[AT_SCALE];
    spoil_strides(&c);
    float share = c.kept > 0.0 ? (float)c.kept : 1.0f;
    if (!is_number(&addresses[AT_NOTHING], -INFINITY) || !is_number(&addresses[AT_KEPT_SHARE], share) ||
        !is_number(&addresses[AT_KEPT_SCALE], 1.0f / share))
        emu_fault("cuDNN: attention with other numbers than it has to have");
    memcpy(p->arguments, &c, sizeof c);
}

static flash_bias bias_of(dnn_desc d)
{
    flash_bias b = {.at = NULL};
    for (int i = 0; d && i < RANK; i++)
        b.stride[i] = size_of(d, i) > 1 ? stride_of(d, i) : 0;
    return b;
}

static void fill(const match *m, dnn_problem *ret)
{
    _Static_assert(sizeof(flash_call) <= DNN_CALL_BYTES, "it fits");
    _Static_assert(COUNT_OF(bound) <= DNN_TENSORS, "they fit");
    flash_call c = {.backward = m->of[DY] != NULL,
                    .causal = m->of[SEES] != NULL,
                    .half = m->half,
                    .batch = m->batch,
                    .kept = m->kept,
                    .bias = bias_of(m->of[BIAS])};
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
    step steps[PATTERN_STEPS];
    bool found = is_whole(&m, operations, n);
    for (unsigned way = 0; way < 32 && !found; way++) {
        traits has = {way & 1, way & 2, way & 4, way & 8};
        int n_steps = way & 16 ? pattern_backward(steps, has) : pattern_forward(steps, has);
        found = follow_all(&m, steps, n_steps, operations, n);
    }
    if (!found || !is_attention(&m))
        return false;
    fill(&m, ret);
    return true;
}
