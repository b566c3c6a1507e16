/*
 * Attention: y = softmax(scale q k^T + mask) v for every batch and head, after ONNX's Attention,
 * with dropout of the probabilities. What backward needs is y and, for every row of the scores, the
 * logarithm of the sum of their exponentials; no tensor of [Sq,Sk] is kept. A row that no key may
 * be looked at from is zero. A mask that is added has a gradient, the scores' own, summed over the
 * axes it is broadcast over; one that is the same for all keys has none, for softmax does not see it.
 */
#include "graph/attention.h"
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

/* Heads are counted where operands have 3 axes; a scale of 0 is 1 / sqrt(head). */
static const attr_field fields[] = {
    ATTR_FIELD(attention_attr, q_heads, "q_num_heads", ATTR_INT, 0),
    ATTR_FIELD(attention_attr, kv_heads, "kv_num_heads", ATTR_INT, 0),
    ATTR_FIELD(attention_attr, scale, "scale", ATTR_FLOAT, 0),
    ATTR_FIELD(attention_attr, causal, "is_causal", ATTR_BOOL, 0),
    ATTR_OURS(attention_attr, past, ATTR_INT, 0),
    ATTR_RATIO(attention_attr, ratio, "ratio", 0),
    ATTR_OURS(attention_attr, seed, ATTR_INT, 0),
    ATTR_OURS(attention_attr, stream, ATTR_INT, 0),
    ATTR_MORE,
};

/* Where the operands stand among the inputs: from 0 forward, behind dy, y and lse backward. */
static status form_at(const graph *g, const graph_node *n, int32_t first, attention_form *ret,
                      error *err)
{
    char why[ATTENTION_WHY];
    bool whole = rule_has(n, first + 1);
    TRY(rule_float(g, n, first, err));
    if (whole != rule_has(n, first + 2))
        return rule_fail(n, err, "keys and values are given both or not at all");
    for (int32_t i = 1; whole && i < 3; i++)
        TRY(rule_same_type(g, n, first, first + i, err));
    if (!attention_form_of(n->attr, rule_shape(g, n, first),
                           whole ? rule_shape(g, n, first + 1) : NULL,
                           whole ? rule_shape(g, n, first + 2) : NULL, ret, why))
        return rule_fail(n, err, "%s", why);
    return OK;
}

/* So that nobody behind the rule asks again what was left open. */
static void complete(const graph_node *n, const attention_form *f)
{
    attention_attr *a = (attention_attr *)n->attr;
    a->q_heads = f->q_heads;
    a->kv_heads = f->kv_heads;
    if (a->scale == 0.0f)
        a->scale = 1.0f / __builtin_sqrtf((float)f->head);
}

static status check_mask(const graph *g, const graph_node *n, int32_t i, const attention_form *f,
                         error *err)
{
    graph_shape scores = {4, {f->batch, f->q_heads, f->q_length, f->k_length}};
    if (!rule_has(n, i))
        return OK;
    dtype t = rule_type(g, n, i);
    if (t != DT_BOOL && t != DT_F32)
        return rule_fail(n, err, "the mask is %s, must be bool or float32", dtype_name(t));
    if (!rule_broadcasts_to(rule_shape(g, n, i), &scores))
        return rule_fail(n, err, "the mask %s does not broadcast to the scores %s",
                         SHAPE(rule_shape(g, n, i)), SHAPE(&scores));
    return OK;
}

static status check_dropout(const graph *g, const graph_node *n, int32_t i, error *err)
{
    const attention_attr *a = n->attr;
    if (a->ratio > 0.0f && !rule_has(n, i))
        return rule_fail(n, err, "dropout needs the batch id");
    if (rule_has(n, i) &&
        (rule_type(g, n, i) != DT_I64 || graph_shape_elements(rule_shape(g, n, i)) != 1))
        return rule_fail(n, err, "the batch id is %s %s, must be one int64",
                         dtype_name(rule_type(g, n, i)), SHAPE(rule_shape(g, n, i)));
    return OK;
}

static status check_past(const graph_node *n, error *err)
{
    const attention_attr *a = n->attr;
    if (a->past < 0 || (a->past > 0 && !a->causal))
        return rule_fail(n, err, "%" PRId64 " keys of the past: must be 0 or more, and causal",
                         a->past);
    return OK;
}

static bool differs_by_key(const graph_shape *mask)
{
    return mask->rank > 0 && mask->dim[mask->rank - 1] > 1;
}

static graph_shape rows_of(const attention_form *f)
{
    return (graph_shape){3, {f->batch, f->q_heads, f->q_length}};
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    (void)ret_dtype;
    attention_form f;
    TRY(form_at(g, n, 0, &f, err));
    complete(n, &f);
    TRY(check_mask(g, n, 3, &f, err));
    TRY(check_dropout(g, n, 4, err));
    TRY(check_past(n, err));
    ret_shape[0] = f.y_shape;
    ret_shape[1] = rows_of(&f);
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    if (d->dy[1] != GRAPH_NONE)
        return FAIL(err, E_UNSUPPORTED, "no gradient through the log-sum-exp");
    const graph_val in[] = {d->dy[0], d->n.out[0], d->n.out[1], d->n.in[0],
                            d->n.in[1], d->n.in[2],  d->n.in[3],  d->n.in[4]};
    TRY(emit_gradients(d, OP_ATTENTION_BWD, in, 8, err));
    if (!d->wants[3] || d->dx[3] != GRAPH_NONE)
        return OK;
    graph_shape mask = emit_shape_of(d->g, d->n.in[3]);
    return emit_zero(d->g, &mask, &d->dx[3], err);
}

/* Half of the scores are not looked at when attention is causal and square. */
static double scores_flops(const graph_node *n, const attention_form *f)
{
    const attention_attr *a = n->attr;
    bool half = a->causal && a->past == 0 && f->q_length == f->k_length;
    return (half ? 1.0 : 2.0) * (double)(f->batch * f->q_heads) * (double)f->q_length *
           (double)f->k_length;
}

static double flops(const graph *g, const graph_node *n)
{
    attention_form f;
    error err = ERROR_INIT;
    if (form_at(g, n, 0, &f, &err) != OK)
        return 0.0;
    return scores_flops(n, &f) * (double)(f.head + f.v_head);
}

GRAPH_OP(ATTENTION, attention, "Attention", ATTRIBUTES(attention_attr, fields), .infer = infer,
         .grad = grad, .flops = flops);

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    (void)ret_dtype;
    attention_form f;
    TRY(form_at(g, n, 3, &f, err));
    complete(n, &f);
    graph_shape rows = rows_of(&f);
    TRY(rule_expect(g, n, 0, "the gradient", &f.y_shape, err));
    TRY(rule_expect(g, n, 1, "the result", &f.y_shape, err));
    TRY(rule_expect(g, n, 2, "the log-sum-exp", &rows, err));
    TRY(check_mask(g, n, 6, &f, err));
    TRY(check_dropout(g, n, 7, err));
    TRY(check_past(n, err));
    for (int32_t i = 0; i < 3 && rule_has(n, 3 + i); i++)
        ret_shape[i] = *rule_shape(g, n, 3 + i);
    if (rule_has(n, 6) && rule_type(g, n, 6) == DT_F32 && differs_by_key(rule_shape(g, n, 6)))
        ret_shape[3] = *rule_shape(g, n, 6);
    return OK;
}

static double flops_bwd(const graph *g, const graph_node *n)
{
    attention_form f;
    error err = ERROR_INIT;
    if (form_at(g, n, 3, &f, &err) != OK)
        return 0.0;
    return scores_flops(n, &f) * (double)(2 * (f.head + f.v_head));
}

GRAPH_OP(ATTENTION_BWD, attention_bwd, "AttentionBwd", ATTRIBUTES(attention_attr, fields),
         .infer = infer_bwd, .flops = flops_bwd);
