#include "backend/cuda/library/dnn_attention.h"

#include <limits.h>
#include <math.h>

enum {
    ARCH_FROM = 90,
    BACKWARD_BELOW = 100,
    HEAD_STEP = 8,
    HEAD_MOST = 128,
};

/* Backward there is one of halves for every pair of query and key. */
static const int64_t SCRATCH_MOST = 1 << 30;

/* The numbers of operands. */
enum { Q, K, V, Y, LSE, DY, DQ, DK, DV, DELTA, OPERANDS };

/* A graph that is being described. */
typedef struct draft {
    dnn_graph *g;
    const launch_attention *t;
    unsigned half; /* the type of the operands */
    dnn_desc scale;
} draft;

static draft begin(backend_program *p, const launch_attention *t)
{
    dnn_graph *g = dnn_begin(p);
    unsigned half = t->operands == LAUNCH_BF16 ? DNN_BF16 : DNN_F16;
    return (draft){g, t, half, dnn_number(g, 4, t->scale)};
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

static dnn_desc operand(draft *d, int number, dnn_form f)
{
    return dnn_operand(d->g, number, &f);
}

static dnn_desc between(draft *d, dnn_form f)
{
    return dnn_between(d->g, &f);
}

/* --- operations; each returns what it makes, y --- */

static dnn_desc multiply(draft *d, dnn_desc a, dnn_desc b, dnn_desc y)
{
    unsigned sums = DNN_F32;
    dnn_desc how =
        dnn_make(d->g, DNN_MATMUL, DNN_ATTRIBUTES({DNN_MATMUL_TYPE, DNN_IS_TYPE, 1, &sums}));
    dnn_operation(d->g, DNN_OP_MATMUL,
                  DNN_ATTRIBUTES({DNN_OP_MATMUL_HOW, DNN_IS_DESCRIPTOR, 1, &how},
                                 {DNN_OP_MATMUL_A, DNN_IS_DESCRIPTOR, 1, &a},
                                 {DNN_OP_MATMUL_B, DNN_IS_DESCRIPTOR, 1, &b},
                                 {DNN_OP_MATMUL_C, DNN_IS_DESCRIPTOR, 1, &y}));
    return y;
}

static dnn_desc reduce(draft *d, unsigned operator, bool in_order, dnn_desc x, dnn_desc y)
{
    unsigned sums = DNN_F32;
    dnn_desc how =
        dnn_make(d->g, DNN_REDUCTION,
                 DNN_ATTRIBUTES({DNN_REDUCTION_OPERATOR, DNN_IS_REDUCTION, 1, &operator},
                                {DNN_REDUCTION_TYPE, DNN_IS_TYPE, 1, &sums},
                                {DNN_REDUCTION_IS_DETERMINISTIC, DNN_IS_BOOL, 1, &in_order}));
    dnn_operation(d->g, DNN_OP_REDUCTION,
                  DNN_ATTRIBUTES({DNN_OP_REDUCTION_HOW, DNN_IS_DESCRIPTOR, 1, &how},
                                 {DNN_OP_REDUCTION_X, DNN_IS_DESCRIPTOR, 1, &x},
                                 {DNN_OP_REDUCTION_Y, DNN_IS_DESCRIPTOR, 1, &y}));
    return y;
}

/* The same elements in another form. */
static dnn_desc reshape(draft *d, dnn_desc x, dnn_desc y)
{
    dnn_operation(d->g, DNN_OP_RESHAPE,
                  DNN_ATTRIBUTES({DNN_OP_RESHAPE_X, DNN_IS_DESCRIPTOR, 1, &x},
                                 {DNN_OP_RESHAPE_Y, DNN_IS_DESCRIPTOR, 1, &y}));
    return y;
}

/* y = how(x, b, t), element by element; b and t may be absent. */
static dnn_desc apply(draft *d, dnn_desc how, dnn_desc x, dnn_desc b, dnn_desc t, dnn_desc y)
{
    dnn_operation(d->g, DNN_OP_POINTWISE,
                  DNN_ATTRIBUTES({DNN_OP_POINTWISE_HOW, DNN_IS_DESCRIPTOR, 1, &how},
                                 {DNN_OP_POINTWISE_X, DNN_IS_DESCRIPTOR, 1, &x},
                                 {DNN_OP_POINTWISE_Y, DNN_IS_DESCRIPTOR, 1, &y},
                                 {DNN_OP_POINTWISE_B, DNN_IS_DESCRIPTOR, 1, b ? &b : NULL},
                                 {DNN_OP_POINTWISE_T, DNN_IS_DESCRIPTOR, 1, t ? &t : NULL}));
    return y;
}

static dnn_desc mode(draft *d, unsigned mode, unsigned precision)
{
    return dnn_make(d->g, DNN_POINTWISE,
                    DNN_ATTRIBUTES({DNN_POINTWISE_MODE, DNN_IS_POINTWISE_MODE, 1, &mode},
                                   {DNN_POINTWISE_PRECISION, DNN_IS_TYPE, 1, &precision}));
}

/* In float32, of one or two operands. */
static dnn_desc compute(draft *d, unsigned what, dnn_desc x, dnn_desc b, dnn_desc y)
{
    return apply(d, mode(d, what, DNN_F32), x, b, NULL, y);
}

/* Which element of the axis it is, in the form of x. */
static dnn_desc number_along(draft *d, int64_t axis, dnn_desc x)
{
    unsigned mode = DNN_INDEX, precision = DNN_INT32;
    dnn_desc how = dnn_make(d->g, DNN_POINTWISE,
                            DNN_ATTRIBUTES({DNN_POINTWISE_MODE, DNN_IS_POINTWISE_MODE, 1, &mode},
                                           {DNN_POINTWISE_PRECISION, DNN_IS_TYPE, 1, &precision},
                                           {DNN_POINTWISE_AXIS, DNN_IS_INT64, 1, &axis}));
    return apply(d, how, x, NULL, NULL, between(d, pairs(d, DNN_INT32)));
}

/* --- what both directions have --- */

/* scale q k^T */
static dnn_desc scores(draft *d, dnn_desc q, dnn_desc transposed_k)
{
    dnn_desc s = multiply(d, q, transposed_k, between(d, pairs(d, DNN_F32)));
    return compute(d, DNN_MUL, s, d->scale, between(d, pairs(d, DNN_F32)));
}

/* What a query may not look at is less than all else. */
static dnn_desc hide(draft *d, dnn_desc s)
{
    if (!d->t->causal)
        return s;
    dnn_desc query = number_along(d, 2, s), key = number_along(d, 3, s);
    dnn_desc sees = apply(d, mode(d, DNN_GREATER_OR_EQUAL, DNN_BOOL), query, key, NULL,
                          between(d, pairs(d, DNN_BOOL)));
    dnn_desc nothing = dnn_number(d->g, 4, -INFINITY);
    return apply(d, mode(d, DNN_SELECT, DNN_F32), s, nothing, sees, between(d, pairs(d, DNN_F32)));
}

/* --- forward --- */

static void describe_forward(draft *d)
{
    const launch_attention *t = d->t;
    dnn_desc q = operand(d, Q, queries(d, t->q_layout));
    dnn_desc s = hide(d, scores(d, q, operand(d, K, transposed(keys(d, t->k_layout)))));
    dnn_desc max = reduce(d, DNN_REDUCE_MAX, false, s, between(d, rows(d)));
    dnn_desc below = compute(d, DNN_SUB, s, max, between(d, pairs(d, DNN_F32)));
    dnn_desc e = compute(d, DNN_EXP, below, NULL, between(d, pairs(d, DNN_F32)));
    dnn_desc sum = reduce(d, DNN_REDUCE_ADD, false, e, between(d, rows(d)));
    dnn_desc log = compute(d, DNN_LOG, sum, NULL, between(d, rows(d)));
    compute(d, DNN_ADD, max, log, operand(d, LSE, rows(d)));
    dnn_desc p = compute(d, DNN_DIV, e, sum, between(d, pairs(d, d->half)));
    multiply(d, p, operand(d, V, values(d, t->v_layout)), operand(d, Y, results(d, t->y_layout)));
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

/* dy . y of every query */
static dnn_desc describe_delta(draft *d, dnn_desc dy)
{
    const launch_attention *t = d->t;
    dnn_form form = results(d, t->y_layout);
    dnn_form products = dense(DNN_F32, t->batch, t->q_heads, t->q_length, t->v_head);
    dnn_desc each = compute(d, DNN_MUL, dy, operand(d, Y, form), between(d, products));
    dnn_desc sum = reduce(d, DNN_REDUCE_ADD, true, each, between(d, rows(d)));
    return compute(d, DNN_MUL, sum, dnn_number(d->g, 4, 1.0f), operand(d, DELTA, rows(d)));
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
    dnn_desc transposed_x = reshape(d, x, between(d, transposed(pairs(d, d->half))));
    dnn_desc to = operand(d, number, y);
    if (t->q_heads == t->kv_heads) {
        multiply(d, transposed_x, b, to);
        return;
    }
    dnn_form every = dense(d->half, t->batch, t->q_heads, t->k_length, y.size[3]);
    reduce(d, DNN_REDUCE_ADD, true, multiply(d, transposed_x, b, between(d, every)), to);
}

static void describe_backward(draft *d)
{
    const launch_attention *t = d->t;
    dnn_desc q = operand(d, Q, queries(d, t->q_layout));
    dnn_form k = keys(d, t->k_layout), v = values(d, t->v_layout);
    dnn_desc dy = operand(d, DY, results(d, t->y_layout)),
             transposed_k = operand(d, K, transposed(k));
    dnn_desc delta = describe_delta(d, dy), p = describe_probabilities(d, q, transposed_k);
    describe_gradient(d, p, dy, DV, v);
    dnn_desc dp = multiply(d, dy, operand(d, V, transposed(v)), between(d, pairs(d, DNN_F32)));
    dnn_desc over = compute(d, DNN_SUB, dp, delta, between(d, pairs(d, DNN_F32)));
    dnn_desc plain = compute(d, DNN_MUL, over, p, between(d, pairs(d, DNN_F32)));
    dnn_desc ds = compute(d, DNN_MUL, plain, d->scale, between(d, pairs(d, DNN_F32)));
    describe_gradient(d, ds, q, DK, k);
    multiply(d, ds, reshape(d, transposed_k, between(d, k)),
             operand(d, DQ, queries(d, t->q_layout)));
}

/* --- plans and runs --- */

static bool is_head(int64_t n)
{
    return n > 0 && n % HEAD_STEP == 0 && n <= HEAD_MOST;
}

static status check(const backend_program *p, const launch_attention *t, int below, error *err)
{
    int arch = p->backend->arch;
    if (arch < ARCH_FROM || arch >= below)
        return FAIL(err, E_UNSUPPORTED, "cuDNN's attention is not for sm_%d", arch);
    if (t->operands == LAUNCH_F32 || !is_head(t->head) || !is_head(t->v_head))
        return FAIL(err, E_UNSUPPORTED,
                    "cuDNN's attention is of half precision and heads of 8, 16 .. %d", HEAD_MOST);
    return dnn_find(DNN_ATTENTION_FROM, err);
}

static status plan_as(backend_program *p, const launch_attention *t, void (*describe)(draft *),
                      dnn_graph **ret, error *err)
{
    draft d = begin(p, t);
    describe(&d);
    dnn_allow(d.g, SCRATCH_MOST);
    TRY(dnn_plan(d.g, false, err));
    *ret = d.g;
    return OK;
}

status dnn_attention_plan(backend_program *p, const launch_attention *t, dnn_graph **ret,
                          error *err)
{
    error why = ERROR_INIT;
    TRY(check(p, t, INT_MAX, err));
    status st = t->causal ? E_UNSUPPORTED : plan_as(p, t, describe_whole, ret, &why);
    if (st == E_UNSUPPORTED)
        return plan_as(p, t, describe_forward, ret, err);
    return st == OK ? OK : FAIL(err, st, "%s", why.text);
}

status dnn_attention_bwd_plan(backend_program *p, const launch_attention *t, dnn_graph **ret,
                              error *err)
{
    TRY(check(p, t, BACKWARD_BELOW, err));
    return plan_as(p, t, describe_backward, ret, err);
}

static void *address(const void *x)
{
    return (void *)(uintptr_t)x;
}

status dnn_attention_run(dnn_graph *g, const launch_attention *t, void *scratch, error *err)
{
    void *const operands[OPERANDS] = {
        [Q] = address(t->q), [K] = address(t->k), [V] = address(t->v), [Y] = t->y, [LSE] = t->lse};
    return dnn_run(g, operands, scratch, err);
}

status dnn_attention_bwd_run(dnn_graph *g, const launch_attention_bwd *b, void *scratch, error *err)
{
    void *const operands[OPERANDS] = {
        [Q] = address(b->of.q), [K] = address(b->of.k), [V] = address(b->of.v), [Y] = b->of.y,
        [LSE] = b->of.lse,      [DY] = address(b->dy),  [DQ] = b->dq,           [DK] = b->dk,
        [DV] = b->dv,           [DELTA] = b->delta,
    };
    return dnn_run(g, operands, scratch, err);
}
