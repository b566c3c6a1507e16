#include "backend/cuda/library/dnn_attention.h"

#include "backend/cuda/library/dnn_operations.h"

#include <limits.h>
#include <math.h>

enum {
    ARCH_FROM = 90,
    BACKWARD_BELOW = 100,
    HEAD_STEP = 8,
    HEAD_MOST = 256,
    TILE_QUERIES = 64, /* of its kernels backward */
    TILE_KEYS = 128,
};

/* Backward there is one of halves for every pair of query and key, and the mask may be a float for each. */
int64_t dnn_attention_scratch_most = 1 << 30;

/* The numbers of operands. */
enum { Q, K, V, Y, LSE, DY, DQ, DK, DV, DELTA, BIAS, SEED, OFFSET, OPERANDS };

/* A graph that is being described. */
typedef struct draft {
    dnn_graph *g;
    const dnn_attention *a;
    const launch_attention *t; /* a's */
    unsigned half;             /* the type of the operands */
    dnn_desc scale;
} draft;

static draft begin(backend_program *p, const dnn_attention *a)
{
    dnn_graph *g = dnn_begin(p);
    unsigned half = a->of.operands == LAUNCH_BF16 ? DNN_BF16 : DNN_F16;
    return (draft){g, a, &a->of, half, dnn_number(g, 4, a->of.scale)};
}

/* --- tensors: [batch, head, position, number], or [.., query, key] --- */

static dnn_form lying(const draft *d, int64_t heads, int64_t length, int64_t head, launch_layout l)
{
    return (dnn_form){
        d->half, 4, {d->t->batch, heads, length, head}, {l.batch, l.head, l.position, 1}};
}

static dnn_form dense(unsigned type, int64_t batch, int64_t heads, int64_t rows, int64_t columns)
{
    return (dnn_form){type,
                      4,
                      {batch, heads, rows, columns},
                      {heads * rows * columns, rows * columns, columns, 1}};
}

/* The same memory, with the last two axes exchanged. */
static dnn_form transposed(dnn_form f)
{
    dnn_form r = f;
    r.size[2] = f.size[3];
    r.size[3] = f.size[2];
    r.stride[2] = f.stride[3];
    r.stride[3] = f.stride[2];
    return r;
}

static dnn_form queries(const draft *d, launch_layout l)
{
    return lying(d, d->t->q_heads, d->t->q_length, d->t->head, l);
}

static dnn_form keys(const draft *d, launch_layout l)
{
    return lying(d, d->t->kv_heads, d->t->k_length, d->t->head, l);
}

static dnn_form values(const draft *d, launch_layout l)
{
    return lying(d, d->t->kv_heads, d->t->k_length, d->t->v_head, l);
}

static dnn_form results(const draft *d, launch_layout l)
{
    return lying(d, d->t->q_heads, d->t->q_length, d->t->v_head, l);
}

/* A number a pair of query and key, and a query. */
static dnn_form pairs(const draft *d, unsigned type)
{
    return dense(type, d->t->batch, d->t->q_heads, d->t->q_length, d->t->k_length);
}

static dnn_form rows(const draft *d)
{
    return dense(DNN_F32, d->t->batch, d->t->q_heads, d->t->q_length, 1);
}

/* A mask: 1 along the axes along which it is the same. */
static dnn_form bias(const draft *d)
{
    const launch_attention *t = d->t;
    const int64_t all[] = {t->batch, t->q_heads, t->q_length, t->k_length};
    int64_t size[COUNT_OF(all)];
    for (size_t i = 0; i < COUNT_OF(all); i++)
        size[i] = t->mask_stride[i] ? all[i] : 1;
    return dense(DNN_F32, size[0], size[1], size[2], size[3]);
}

static dnn_desc operand(draft *d, int number, dnn_form f)
{
    return dnn_operand(d->g, number, &f);
}

static dnn_desc between(draft *d, dnn_form f)
{
    return dnn_between(d->g, &f);
}

/* In float32, of one or two operands. */
static dnn_desc compute(draft *d, unsigned what, dnn_desc x, dnn_desc b, dnn_desc y)
{
    return dnn_pointwise(d->g, what, DNN_F32, (dnn_desc[3]){x, b}, y);
}

/* --- what both directions have --- */

/* scale q k^T, and the mask */
static dnn_desc scores(draft *d, dnn_desc q, dnn_desc transposed_k)
{
    dnn_desc s = dnn_multiply(d->g, q, transposed_k, between(d, pairs(d, DNN_F32)));
    s = compute(d, DNN_MUL, s, d->scale, between(d, pairs(d, DNN_F32)));
    if (!d->a->is_biased)
        return s;
    return compute(d, DNN_ADD, s, operand(d, BIAS, bias(d)), between(d, pairs(d, DNN_F32)));
}

/* What a query may not look at is less than all else. */
static dnn_desc hide(draft *d, dnn_desc s)
{
    if (!d->t->causal)
        return s;
    dnn_desc query = dnn_index(d->g, 2, s, between(d, pairs(d, DNN_INT32)));
    dnn_desc key = dnn_index(d->g, 3, s, between(d, pairs(d, DNN_INT32)));
    dnn_desc sees = dnn_pointwise(d->g, DNN_GREATER_OR_EQUAL, DNN_BOOL, (dnn_desc[3]){query, key},
                                  between(d, pairs(d, DNN_BOOL)));
    dnn_desc nothing = dnn_number(d->g, 4, -INFINITY);
    return dnn_pointwise(d->g, DNN_SELECT, DNN_F32, (dnn_desc[3]){s, nothing, sees},
                         between(d, pairs(d, DNN_F32)));
}

/* 1 for each pair that is kept, else 0. */
static dnn_desc draw(draft *d)
{
    dnn_desc seed = operand(d, SEED, dense(DNN_INT64, 1, 1, 1, 1));
    dnn_desc offset = operand(d, OFFSET, dense(DNN_INT64, 1, 1, 1, 1));
    return dnn_draw(d->g, 1.0 - (double)d->a->ratio, seed, offset, between(d, pairs(d, DNN_F32)));
}

static dnn_desc drop_scale(draft *d)
{
    return dnn_number(d->g, 4, 1.0f / (1.0f - d->a->ratio));
}

/* Probabilities that are kept, larger to match; of that type. */
static dnn_desc drop(draft *d, dnn_desc p, dnn_desc kept, dnn_desc by, unsigned type)
{
    dnn_desc rest = compute(d, DNN_MUL, p, kept, between(d, pairs(d, DNN_F32)));
    return compute(d, DNN_MUL, rest, by, between(d, pairs(d, type)));
}

/* --- forward --- */

static void describe_forward(draft *d)
{
    const launch_attention *t = d->t;
    dnn_desc q = operand(d, Q, queries(d, t->q_layout));
    dnn_desc s = hide(d, scores(d, q, operand(d, K, transposed(keys(d, t->k_layout)))));
    dnn_desc max = dnn_reduce(d->g, DNN_REDUCE_MAX, false, s, between(d, rows(d)));
    dnn_desc below = compute(d, DNN_SUB, s, max, between(d, pairs(d, DNN_F32)));
    dnn_desc e = compute(d, DNN_EXP, below, NULL, between(d, pairs(d, DNN_F32)));
    dnn_desc sum = dnn_reduce(d->g, DNN_REDUCE_ADD, false, e, between(d, rows(d)));
    dnn_desc log = compute(d, DNN_LOG, sum, NULL, between(d, rows(d)));
    compute(d, DNN_ADD, max, log, operand(d, LSE, rows(d)));
    bool drops = d->a->ratio > 0.0f;
    dnn_desc p = compute(d, DNN_DIV, e, sum, between(d, pairs(d, drops ? DNN_F32 : d->half)));
    if (drops)
        p = drop(d, p, draw(d), drop_scale(d), d->half);
    dnn_multiply(d->g, p, operand(d, V, values(d, t->v_layout)), operand(d, Y, results(d, t->y_layout)));
}

static void describe_whole(draft *d)
{
    const launch_attention *t = d->t;
    dnn_desc q = operand(d, Q, queries(d, t->q_layout)), k = operand(d, K, keys(d, t->k_layout));
    dnn_desc v = operand(d, V, values(d, t->v_layout)), y = operand(d, Y, results(d, t->y_layout));
    dnn_desc lse = operand(d, LSE, rows(d));
    dnn_operation(d->g, DNN_OP_SDPA,
                  DNN_ATTRIBUTES({DNN_OP_SDPA_Q, DNN_IS_DESCRIPTOR, 1, &q},
                                 {DNN_OP_SDPA_K, DNN_IS_DESCRIPTOR, 1, &k},
                                 {DNN_OP_SDPA_V, DNN_IS_DESCRIPTOR, 1, &v},
                                 {DNN_OP_SDPA_Y, DNN_IS_DESCRIPTOR, 1, &y},
                                 {DNN_OP_SDPA_STATISTICS, DNN_IS_DESCRIPTOR, 1, &lse},
                                 {DNN_OP_SDPA_SCALE, DNN_IS_DESCRIPTOR, 1, &d->scale}));
}

/* --- backward --- */

/* dy . y of every query, which counts what is kept larger */
static dnn_desc describe_delta(draft *d, dnn_desc dy)
{
    const launch_attention *t = d->t;
    dnn_form form = results(d, t->y_layout);
    dnn_form products = dense(DNN_F32, t->batch, t->q_heads, t->q_length, t->v_head);
    dnn_desc each = compute(d, DNN_MUL, dy, operand(d, Y, form), between(d, products));
    dnn_desc sum = dnn_reduce(d->g, DNN_REDUCE_ADD, true, each, between(d, rows(d)));
    dnn_desc by = dnn_number(d->g, 4, 1.0f - d->a->ratio);
    return compute(d, DNN_MUL, sum, by, operand(d, DELTA, rows(d)));
}

/* exp(scores - log-sum-exp), which are the probabilities */
static dnn_desc describe_probabilities(draft *d, dnn_desc q, dnn_desc transposed_k)
{
    dnn_desc s = scores(d, q, transposed_k), lse = operand(d, LSE, rows(d));
    dnn_desc below = hide(d, compute(d, DNN_SUB, s, lse, between(d, pairs(d, DNN_F32))));
    return compute(d, DNN_EXP, below, NULL, between(d, pairs(d, DNN_F32)));
}

/* y = x^T b; where heads share keys, of every head of queries and then added up. */
static void describe_gradient(draft *d, dnn_desc x, dnn_desc b, int number, dnn_form y)
{
    const launch_attention *t = d->t;
    dnn_desc transposed_x = dnn_reshape(d->g, x, between(d, transposed(pairs(d, d->half))));
    dnn_desc to = operand(d, number, y);
    if (t->q_heads == t->kv_heads) {
        dnn_multiply(d->g, transposed_x, b, to);
        return;
    }
    dnn_form every = dense(d->half, t->batch, t->q_heads, t->k_length, y.size[3]);
    dnn_reduce(d->g, DNN_REDUCE_ADD, true, dnn_multiply(d->g, transposed_x, b, between(d, every)), to);
}

/* Of scores: (dy v^T - delta) p, where `kept` is not NULL of what is kept, `by` so much larger. */
static dnn_desc describe_scores(draft *d, dnn_desc dy, dnn_desc delta, dnn_desc p, dnn_desc kept, dnn_desc by)
{
    dnn_form v = transposed(values(d, d->t->v_layout));
    dnn_desc dp = dnn_multiply(d->g, dy, operand(d, V, v), between(d, pairs(d, DNN_F32)));
    if (kept)
        dp = compute(d, DNN_MUL, dp, kept, between(d, pairs(d, DNN_F32)));
    dnn_desc over = compute(d, DNN_SUB, dp, delta, between(d, pairs(d, DNN_F32)));
    dnn_desc plain = compute(d, DNN_MUL, over, p, between(d, pairs(d, DNN_F32)));
    if (kept)
        plain = compute(d, DNN_MUL, plain, by, between(d, pairs(d, DNN_F32)));
    return compute(d, DNN_MUL, plain, d->scale, between(d, pairs(d, DNN_F32)));
}

static void describe_backward(draft *d)
{
    const launch_attention *t = d->t;
    bool drops = d->a->ratio > 0.0f;
    dnn_desc q = operand(d, Q, queries(d, t->q_layout));
    dnn_form k = keys(d, t->k_layout), v = values(d, t->v_layout);
    dnn_desc dy = operand(d, DY, results(d, t->y_layout)),
             transposed_k = operand(d, K, transposed(k));
    dnn_desc delta = describe_delta(d, dy), p = describe_probabilities(d, q, transposed_k);
    dnn_desc kept = drops ? draw(d) : NULL, by = drops ? drop_scale(d) : NULL;
    describe_gradient(d, drops ? drop(d, p, kept, by, DNN_F32) : p, dy, DV, v);
    dnn_desc ds = describe_scores(d, dy, delta, p, kept, by);
    describe_gradient(d, ds, q, DK, k);
    dnn_multiply(d->g, ds, dnn_reshape(d->g, transposed_k, between(d, k)),
                 operand(d, DQ, queries(d, t->q_layout)));
}

/* --- plans and runs --- */

static bool is_head(int64_t n)
{
    return n > 0 && n % HEAD_STEP == 0 && n <= HEAD_MOST;
}

static int64_t bias_bytes(const dnn_attention *a)
{
    dnn_form f = bias(&(draft){.t = &a->of});
    return a->is_biased ? f.size[0] * f.stride[0] * (int64_t)sizeof(float) : 0;
}

static status check(const backend_program *p, const dnn_attention *a, int below, error *err)
{
    const launch_attention *t = &a->of;
    int arch = p->backend->arch;
    if (arch < ARCH_FROM || arch >= below)
        return FAIL(err, E_UNSUPPORTED, "cuDNN's attention is not for sm_%d", arch);
    if (t->operands == LAUNCH_F32 || !is_head(t->head) || !is_head(t->v_head))
        return FAIL(err, E_UNSUPPORTED,
                    "cuDNN's attention is of half precision and heads of 8, 16 .. %d", HEAD_MOST);
    if (t->past > 0)
        return FAIL(err, E_UNSUPPORTED, "it has keys of the past, and cuDNN's attention is used without them");
    if (bias_bytes(a) > dnn_attention_scratch_most)
        return FAIL(err, E_UNSUPPORTED, "its mask would take %lld bytes as floats, more than %lld",
                    (long long)bias_bytes(a), (long long)dnn_attention_scratch_most);
    return dnn_find(DNN_ATTENTION_FROM, err);
}

static status plan_as(backend_program *p, const dnn_attention *a, void (*describe)(draft *),
                      dnn_graph **ret, error *err)
{
    draft d = begin(p, a);
    describe(&d);
    dnn_allow(d.g, dnn_attention_scratch_most);
    TRY(dnn_plan(d.g, false, err));
    *ret = d.g;
    return OK;
}

/* One operation has neither mask nor dropout. */
static bool may_be_whole(const dnn_attention *a)
{
    return !a->of.causal && !a->is_biased && a->ratio == 0.0f;
}

status dnn_attention_plan(backend_program *p, const dnn_attention *a, dnn_graph **ret, error *err)
{
    error why = ERROR_INIT;
    TRY(check(p, a, INT_MAX, err));
    bool is_whole = may_be_whole(a);
    status st = is_whole ? plan_as(p, a, describe_whole, ret, &why) : E_UNSUPPORTED;
    if (st == E_UNSUPPORTED && !(is_whole && p->only_asks))
        return plan_as(p, a, describe_forward, ret, err);
    return st == OK ? OK : FAIL(err, st, "%s", why.text);
}

/* Where its keys end in the middle of a tile, and are not all before the diagonal, Hopper's kernel scores those
 * behind the end 0 beside a mask: NaN where all others are far below (pytorch/pytorch issue 196678). One query
 * alone comes to NaN likewise (NVIDIA/cudnn-frontend issue 1072). */
static status check_bwd(const dnn_attention *a, error *err)
{
    const launch_attention *t = &a->of;
    bool is_square = t->causal && t->q_length <= t->k_length;
    if ((a->is_biased || a->ratio > 0.0f) && !is_square && t->k_length % TILE_KEYS == TILE_KEYS / 2)
        return FAIL(err, E_UNSUPPORTED, "cuDNN's gradients beside a mask or dropout may be NaN where there are "
                                        "64, 192, 320 .. keys");
    if (t->q_length == 1)
        return FAIL(err, E_UNSUPPORTED, "cuDNN's gradients may be NaN where there is one query");
    return OK;
}

/* What the deterministic form was found to take: scores' gradients of whole tiles and, where heads share keys,
 * every head's of its keys and values. */
static int64_t bytes_of_bwd(const launch_attention *t, int64_t batch)
{
    int64_t queries = (t->q_length + TILE_QUERIES - 1) / TILE_QUERIES * TILE_QUERIES;
    int64_t keys = (t->k_length + TILE_KEYS - 1) / TILE_KEYS * TILE_KEYS;
    int64_t shared = t->q_heads > t->kv_heads ? t->k_length * (t->head + t->v_head) : 0;
    return batch * t->q_heads * (queries * keys + shared) * (int64_t)sizeof(uint16_t);
}

/* Floats of the mask from one of the batch to the next. */
static int64_t bias_step(const dnn_attention *a)
{
    return a->is_biased && a->of.mask_stride[0] ? bias(&(draft){.t = &a->of}).stride[0] : 0;
}

static int64_t lse_step(const launch_attention *t)
{
    return t->q_heads * t->q_length;
}

/* Whether all that a run is given of what lies n further in the batch is where cuDNN takes it. */
static bool is_aligned(const dnn_attention *a, int64_t n)
{
    const launch_attention *t = &a->of;
    const int64_t halves[] = {t->q_layout.batch, t->k_layout.batch, t->v_layout.batch, t->y_layout.batch};
    const int64_t floats[] = {lse_step(t), bias_step(a)};
    bool is = true;
    for (size_t i = 0; i < COUNT_OF(halves); i++)
        is = is && n * halves[i] * (int64_t)sizeof(uint16_t) % DNN_ALIGN == 0;
    for (size_t i = 0; i < COUNT_OF(floats); i++)
        is = is && n * floats[i] * (int64_t)sizeof(float) % DNN_ALIGN == 0;
    return is;
}

/* The fewest parts of one size that fit and are aligned; all of it where none does, which is refused. */
static int64_t batch_of_run(const dnn_attention *a)
{
    int64_t batch = a->of.batch;
    for (int64_t parts = 1; parts <= batch && a->ratio == 0.0f; parts++)
        if (batch % parts == 0 && bytes_of_bwd(&a->of, batch / parts) <= dnn_attention_scratch_most &&
            (parts == 1 || is_aligned(a, batch / parts)))
            return batch / parts;
    return batch;
}

status dnn_attention_bwd_plan(backend_program *p, const dnn_attention *a, int64_t *ret_batch,
                              dnn_graph **ret, error *err)
{
    dnn_attention part = *a;
    TRY(check(p, a, BACKWARD_BELOW, err));
    TRY(check_bwd(a, err));
    part.of.batch = batch_of_run(a);
    TRY(plan_as(p, &part, describe_backward, ret, err));
    *ret_batch = part.of.batch;
    return OK;
}

static void *address(const void *x)
{
    return (void *)(uintptr_t)x;
}

/* What both directions read. */
static void set_inputs(const dnn_attention *a, void *operands[OPERANDS])
{
    const launch_attention *t = &a->of;
    operands[Q] = address(t->q);
    operands[K] = address(t->k);
    operands[V] = address(t->v);
    operands[Y] = t->y;
    operands[LSE] = t->lse;
    operands[BIAS] = address(a->bias);
    operands[SEED] = address(a->seed);
    operands[OFFSET] = a->seed ? address(a->seed + 2) : NULL;
}

status dnn_attention_run(dnn_graph *g, const dnn_attention *a, void *scratch, error *err)
{
    void *operands[OPERANDS] = {NULL};
    set_inputs(a, operands);
    return dnn_run(g, operands, scratch, err);
}

/* Element `first` of a batch of halves. */
static void *half_of(const void *x, int64_t first, launch_layout l)
{
    return (uint16_t *)address(x) + first * l.batch;
}

void dnn_attention_advance(dnn_attention *a, launch_attention_bwd *b, int64_t n)
{
    launch_attention *t = &a->of;
    t->q = half_of(t->q, n, t->q_layout);
    t->k = half_of(t->k, n, t->k_layout);
    t->v = half_of(t->v, n, t->v_layout);
    t->y = half_of(t->y, n, t->y_layout);
    t->lse += n * lse_step(t);
    if (a->is_biased)
        a->bias += n * bias_step(a);
    b->dy = half_of(b->dy, n, t->y_layout);
    b->dq = half_of(b->dq, n, t->q_layout);
    b->dk = half_of(b->dk, n, t->k_layout);
    b->dv = half_of(b->dv, n, t->v_layout);
}

status dnn_attention_bwd_run(dnn_graph *g, const dnn_attention *a, const launch_attention_bwd *b,
                             void *scratch, error *err)
{
    void *operands[OPERANDS] = {
        [DY] = address(b->dy), [DQ] = b->dq, [DK] = b->dk, [DV] = b->dv, [DELTA] = b->delta};
    set_inputs(a, operands);
    return dnn_run(g, operands, scratch, err);
}
