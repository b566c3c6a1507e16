#include "cuda_emu/fakes/dnn_pattern.h"

#include "backend/cuda/library/api.h"

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

/* The scores, with what is added to them; *ret is their name. */
static step *add_scores(step *to, traits has, name *ret)
{
    to = add(to, DNN_OP_MATMUL, 0, Q, KT, S);
    to = add(to, DNN_OP_POINTWISE, DNN_MUL, S, SCALE, SCALED);
    *ret = has.biased ? BIASED : SCALED;
    return has.biased ? add(to, DNN_OP_POINTWISE, DNN_ADD, SCALED, BIAS, BIASED) : to;
}

/* Of probabilities p what is kept becomes y. */
static step *add_drop(step *to, name p, name y)
{
    to = add(to, DNN_OP_POINTWISE, DNN_MUL, p, KEPT, REST);
    return add(to, DNN_OP_POINTWISE, DNN_MUL, REST, KEPT_SCALE, y);
}

int pattern_forward(step *ret, traits has)
{
    name s, p = has.drops ? PROBABLE : P;
    step *to = add_scores(ret, has, &s);
    to = add_mask(to, has.causal, s, &s);
    to = add(to, DNN_OP_REDUCTION, DNN_REDUCE_MAX, s, NONE, MAX);
    to = add(to, DNN_OP_POINTWISE, DNN_SUB, s, MAX, BELOW);
    to = add(to, DNN_OP_POINTWISE, DNN_EXP, BELOW, NONE, E);
    to = add(to, DNN_OP_REDUCTION, DNN_REDUCE_ADD, E, NONE, SUM);
    to = add(to, DNN_OP_POINTWISE, DNN_LOG, SUM, NONE, LOG);
    to = add(to, DNN_OP_POINTWISE, DNN_ADD, MAX, LOG, LSE);
    to = add(to, DNN_OP_POINTWISE, DNN_DIV, E, SUM, p);
    if (has.drops) {
        to = add(to, DNN_OP_RNG, 0, SEED, OFFSET, KEPT);
        to = add_drop(to, p, P);
    }
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

/* The probabilities, and what the values' gradient is of; *ret is its name. */
static step *add_probabilities(step *to, traits has, name *ret)
{
    name below;
    to = add_scores(to, has, &below);
    to = add(to, DNN_OP_POINTWISE, DNN_SUB, below, LSE, BELOW);
    to = add_mask(to, has.causal, BELOW, &below);
    to = add(to, DNN_OP_POINTWISE, DNN_EXP, below, NONE, PROBABLE);
    *ret = has.drops ? DROPPED : PROBABLE;
    if (!has.drops)
        return to;
    to = add(to, DNN_OP_RNG, 0, SEED, OFFSET, KEPT);
    return add_drop(to, PROBABLE, DROPPED);
}

static step *add_score_gradients(step *to, traits has)
{
    to = add(to, DNN_OP_MATMUL, 0, DY, VT, DP);
    if (has.drops)
        to = add(to, DNN_OP_POINTWISE, DNN_MUL, DP, KEPT, DP_KEPT);
    to = add(to, DNN_OP_POINTWISE, DNN_SUB, has.drops ? DP_KEPT : DP, DELTA, OVER);
    to = add(to, DNN_OP_POINTWISE, DNN_MUL, OVER, PROBABLE, has.drops ? SMALL : PLAIN);
    if (has.drops)
        to = add(to, DNN_OP_POINTWISE, DNN_MUL, SMALL, KEPT_SCALE, PLAIN);
    return add(to, DNN_OP_POINTWISE, DNN_MUL, PLAIN, SCALE, DS);
}

int pattern_backward(step *ret, traits has)
{
    name p;
    step *to = add(ret, DNN_OP_POINTWISE, DNN_MUL, DY, Y, PRODUCTS);
    to = add(to, DNN_OP_REDUCTION, DNN_REDUCE_ADD, PRODUCTS, NONE, DOTS);
    to = add(to, DNN_OP_POINTWISE, DNN_MUL, DOTS, KEPT_SHARE, DELTA);
    to = add_probabilities(to, has, &p);
    to = add_gradient(to, has.shared, p, PT, DY, EVERY_DV, DV);
    to = add_score_gradients(to, has);
    to = add_gradient(to, has.shared, DS, DST, Q, EVERY_DK, DK);
    to = add(to, DNN_OP_RESHAPE, 0, KT, NONE, TRANSPOSED_BACK);
    to = add(to, DNN_OP_MATMUL, 0, DS, TRANSPOSED_BACK, DQ);
    return (int)(to - ret);
}
