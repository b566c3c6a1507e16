/*
 * BatchNormalization. In training it normalises by this batch's mean and population variance, its
 * outputs 1 and 2; otherwise by the inputs, and has no other outputs. The moving averages are the
 * servers' business: here they are only named as the state those outputs feed. A batch without
 * elements has no mean, and moves nothing.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

/* Whether it trains is the run's decision. */
static const attr_field fields[] = {
    ATTR_WITHIN(batch_norm_attr, epsilon, "epsilon", ATTR_FLOAT, 1e-5, 0, __builtin_inf()),
    {0},
};

/* x has channels, and inputs first .. last are vectors of as many, named `what` in messages. */
static status check_channels(const graph *g, const graph_node *n, int32_t first, int32_t last,
                             const char *const *what, graph_shape *ret, error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
    if (x->rank < 2)
        return rule_fail(n, err, "the input %s must have a channel axis", SHAPE(x));
    graph_shape channels = {.rank = 1, .dim = {x->dim[1]}};
    for (int32_t i = first; i <= last; i++)
        TRY(rule_expect(g, n, i, what[i - first], &channels, err));
    *ret = channels;
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    static const char *const what[] = {"the scale", "the bias", "the mean", "the variance"};
    graph_shape channels;
    TRY(check_channels(g, n, 1, 4, what, &channels, err));
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_dtype[0] = ret_dtype[1] = ret_dtype[2] = rule_type(g, n, 0);
    if (((const batch_norm_attr *)n->attr)->training)
        ret_shape[1] = ret_shape[2] = channels;
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    bool training = ((const batch_norm_attr *)d->n.attr)->training;
    if (d->dy[1] != GRAPH_NONE || d->dy[2] != GRAPH_NONE)
        return FAIL(err, E_UNSUPPORTED, "no gradient through the batch's mean and variance");
    if (d->wants[3] || d->wants[4])
        return FAIL(err, E_UNSUPPORTED, "no gradient for the running mean and variance");
    graph_val in[] = {d->n.in[0], d->n.in[1], training ? d->n.out[1] : d->n.in[3],
                      training ? d->n.out[2] : d->n.in[4], d->dy[0]};
    return emit_gradients(d, OP_BATCH_NORMALIZATION_BWD, in, 5, err);
}

static graph_val state(const graph *g, const graph_node *n, int32_t i)
{
    bool moves = ((const batch_norm_attr *)n->attr)->training &&
                 graph_shape_elements(rule_shape(g, n, 0)) > 0;
    return moves && (i == 3 || i == 4) ? n->out[i - 2] : GRAPH_NONE;
}

GRAPH_OP(BATCH_NORMALIZATION, batch_normalization, "BatchNormalization",
         ATTRIBUTES(batch_norm_attr, fields), .infer = infer, .grad = grad, .state = state);

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    static const char *const what[] = {"the scale", "the mean", "the variance"};
    graph_shape channels;
    TRY(check_channels(g, n, 1, 3, what, &channels, err));
    TRY(rule_expect(g, n, 4, "the gradient", rule_shape(g, n, 0), err));
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_shape[1] = ret_shape[2] = channels;
    ret_dtype[0] = ret_dtype[1] = ret_dtype[2] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(BATCH_NORMALIZATION_BWD, batch_normalization_bwd, "BatchNormalizationBwd",
         ATTRIBUTES(batch_norm_attr, fields), .infer = infer_bwd);
