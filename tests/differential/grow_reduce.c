#include "differential/grow.h"

#include <string.h>

void grow_reduce(sketch *s)
{
    static const char *const types[] = {"ReduceMean",      "ReduceMean",   "ReduceSum",
                                        "ReduceSum",       "ReduceMax",    "ReduceMin",
                                        "ReduceProd",      "ReduceL1",     "ReduceL2",
                                        "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"};
    const char *type = DICE_OF(&s->dice, types);
    int32_t x = grow_any(s, 0, 5);
    if (x == NO_TERM)
        return;
    if (strcmp(type, "ReduceLogSum") == 0)
        x = sketch_call(s, "Exp", x, NO_TERM, NO_TERM);
    if (x == NO_TERM)
        return;
    int64_t axes[GRAPH_RANK], n = grow_some_axes(s, grow_shape_of(s, x)->rank, axes);
    bool all = n == 0 || dice_chance(&s->dice, 15);
    int64_t by_input = strcmp(type, "ReduceSum") == 0 ? 13 : 18;
    sketch_begin(s, type);
    sketch_in(s, x);
    if (!all)
        grow_axes(s, axes, n, by_input);
    if (dice_chance(&s->dice, 60))
        sketch_int(s, "keepdims", dice_int(&s->dice, 0, 1));
    if (all && s->opset >= by_input && dice_chance(&s->dice, 30))
        sketch_int(s, "noop_with_empty_axes", 1);
    sketch_end_1(s);
}

void grow_softmax(sketch *s)
{
    static const char *const types[] = {"Softmax", "Softmax", "LogSoftmax", "Hardmax"};
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    sketch_begin(s, DICE_OF(&s->dice, types));
    sketch_in(s, x);
    if (dice_chance(&s->dice, 75))
        sketch_int(s, "axis", grow_axis(s, grow_shape_of(s, x)->rank));
    sketch_end_1(s);
}

static int32_t to_float(sketch *s, int32_t x)
{
    sketch_begin(s, "Cast");
    sketch_in(s, x);
    sketch_int(s, "to", 1);
    return x == NO_TERM ? NO_TERM : sketch_end_1(s);
}

void grow_arg(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    sketch_begin(s, dice_chance(&s->dice, 50) ? "ArgMax" : "ArgMin");
    sketch_in(s, x);
    if (dice_chance(&s->dice, 75))
        sketch_int(s, "axis", grow_axis(s, grow_shape_of(s, x)->rank));
    sketch_int(s, "keepdims", dice_int(&s->dice, 0, 1));
    if (s->opset >= 12 && dice_chance(&s->dice, 30))
        sketch_int(s, "select_last_index", 1);
    to_float(s, sketch_end_1(s));
}

void grow_top_k(sketch *s)
{
    int32_t x = grow_any(s, 1, 4), out[2];
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int64_t axis = grow_axis(s, shape.rank);
    int64_t k = dice_int(&s->dice, 1, shape.dim[axis < 0 ? axis + shape.rank : axis]);
    int32_t count = sketch_const_ints(s, &k, 1);
    sketch_begin(s, "TopK");
    sketch_in(s, x);
    sketch_in(s, count);
    sketch_int(s, "axis", axis);
    sketch_int(s, "largest", dice_int(&s->dice, 0, 1));
    if (sketch_end(s, 2, out) && dice_chance(&s->dice, 50))
        to_float(s, out[1]);
}

void grow_lp_normalization(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    sketch_begin(s, "LpNormalization");
    sketch_in(s, x);
    if (dice_chance(&s->dice, 75))
        sketch_int(s, "axis", grow_axis(s, grow_shape_of(s, x)->rank));
    if (dice_chance(&s->dice, 75))
        sketch_int(s, "p", dice_int(&s->dice, 1, 2));
    sketch_end_1(s);
}

/* Of values that differ: a root at 0 has no derivative. */
void grow_mean_variance(sketch *s)
{
    graph_shape shape = grow_shape(s, 2, 4);
    int64_t axes[GRAPH_RANK], n = grow_some_axes(s, shape.rank, axes);
    if (shape.dim[axes[0] < 0 ? axes[0] + shape.rank : axes[0]] == 1)
        return;
    sketch_begin(s, "MeanVarianceNormalization");
    sketch_in(s, grow_weight(s, &shape, ANY));
    sketch_ints(s, "axes", axes, n);
    sketch_end_1(s);
}

void grow_lrn(sketch *s)
{
    sketch_begin(s, "LRN");
    sketch_in(s, grow_any(s, 3, 4));
    sketch_int(s, "size", dice_int(&s->dice, 0, 2) * 2 + 1);
    if (dice_chance(&s->dice, 50))
        sketch_float(s, "alpha", dice_real(&s->dice, 0.01, 0.5));
    if (dice_chance(&s->dice, 50))
        sketch_float(s, "beta", dice_real(&s->dice, 0.3, 1));
    if (dice_chance(&s->dice, 50))
        sketch_float(s, "bias", dice_real(&s->dice, 1, 2));
    sketch_end_1(s);
}
