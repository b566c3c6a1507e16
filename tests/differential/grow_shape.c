#include "differential/grow.h"

#include <stdlib.h>
#include <string.h>

/* The elements of x under another shape; -1 and 0 stand for sizes now and then. */
void grow_reshape(sketch *s)
{
    int32_t x = grow_any(s, 0, 5);
    if (x == NO_TERM)
        return;
    const graph_shape *from = grow_shape_of(s, x);
    int64_t left = s->terms[x].n, dims[5];
    int64_t rank = dice_int(&s->dice, left == 1 ? 0 : 1, 4);
    for (int64_t i = 0; i < rank; i++) {
        int64_t d = i == rank - 1 ? left : 1;
        for (int tries = 0; i < rank - 1 && tries < 4; tries++) {
            int64_t try = dice_int(&s->dice, 1, left);
            d = left % try == 0 ?
            try : d
                ;
        }
        dims[i] = d;
        left /= d;
    }
    for (int64_t i = 0; i < rank; i++)
        if (i < from->rank && dims[i] == from->dim[i] && dice_chance(&s->dice, 30))
            dims[i] = 0;
    if (rank > 0 && dice_chance(&s->dice, 40))
        dims[dice_int(&s->dice, 0, rank - 1)] = -1;
    sketch_call(s, "Reshape", x, sketch_const_ints(s, dims, rank), NO_TERM);
}

static int32_t size_of_axis(sketch *s, int32_t shape, int64_t axis)
{
    sketch_begin(s, "Gather");
    sketch_in(s, shape);
    sketch_in(s, dice_chance(&s->dice, 50) ? sketch_const_int(s, axis)
                                           : sketch_const_ints(s, &axis, 1));
    sketch_int(s, "axis", 0);
    int32_t y = sketch_end_1(s);
    if (y == NO_TERM || grow_shape_of(s, y)->rank == 1)
        return y;
    sketch_begin(s, "Unsqueeze");
    sketch_in(s, y);
    sketch_in(s, sketch_const_ints(s, (int64_t[]){0}, 1));
    return sketch_end_1(s);
}

/* As exporters write x.view(x.size(0), -1, x.size(2)): Shape, Gather, Concat, Reshape. */
void grow_reshape_by_shape(sketch *s)
{
    int32_t x = grow_any(s, 2, 4);
    int32_t shape = x == NO_TERM ? NO_TERM : sketch_call(s, "Shape", x, NO_TERM, NO_TERM);
    if (shape == NO_TERM)
        return;
    int32_t a = size_of_axis(s, shape, 0);
    int32_t b = size_of_axis(s, shape, dice_chance(&s->dice, 50) ? -1 : 1);
    int32_t rest = sketch_const_ints(s, (int64_t[]){-1}, 1);
    bool turned = dice_chance(&s->dice, 50);
    if (a == NO_TERM || b == NO_TERM)
        return;
    sketch_begin(s, "Concat");
    sketch_in(s, turned ? b : a);
    sketch_in(s, dice_chance(&s->dice, 60) ? rest : turned ? a : b);
    sketch_in(s, dice_chance(&s->dice, 60) ? b : rest);
    sketch_int(s, "axis", 0);
    int32_t to = sketch_end_1(s);
    if (to != NO_TERM)
        sketch_call(s, "Reshape", x, to, NO_TERM);
}

void grow_flatten(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    int32_t rank = grow_shape_of(s, x)->rank;
    sketch_begin(s, "Flatten");
    sketch_in(s, x);
    if (dice_chance(&s->dice, 70))
        sketch_int(s, "axis", dice_int(&s->dice, s->opset >= 11 ? -rank : 0, rank));
    sketch_end_1(s);
}

void grow_squeeze(sketch *s)
{
    int32_t x = grow_any(s, 1, 5);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int64_t axes[GRAPH_RANK], n = 0;
    for (int32_t i = 0; i < shape.rank; i++)
        if (shape.dim[i] == 1 && dice_chance(&s->dice, 70))
            axes[n++] = s->opset >= 11 && dice_chance(&s->dice, 40) ? i - shape.rank : i;
    sketch_begin(s, "Squeeze");
    sketch_in(s, x);
    if (n > 0)
        grow_axes(s, axes, n, 13);
    sketch_end_1(s);
}

void grow_unsqueeze(sketch *s)
{
    int32_t x = grow_any(s, 0, 3);
    if (x == NO_TERM)
        return;
    int32_t rank = grow_shape_of(s, x)->rank, more = (int32_t)dice_int(&s->dice, 1, 2);
    int64_t axes[2];
    axes[0] = dice_int(&s->dice, 0, rank + more - 1);
    axes[1] = (axes[0] + dice_int(&s->dice, 1, rank + more)) % (rank + more);
    if (more == 2 && axes[0] == axes[1])
        return;
    for (int i = 0; i < more; i++)
        axes[i] -= s->opset >= 11 && dice_chance(&s->dice, 40) ? rank + more : 0;
    sketch_begin(s, "Unsqueeze");
    sketch_in(s, x);
    grow_axes(s, axes, more, 13);
    sketch_end_1(s);
}

void grow_transpose(sketch *s)
{
    int32_t x = grow_any(s, 1, 5);
    if (x == NO_TERM)
        return;
    int32_t rank = grow_shape_of(s, x)->rank;
    int64_t perm[GRAPH_RANK];
    for (int32_t i = 0; i < rank; i++) {
        int32_t k = (int32_t)dice_int(&s->dice, 0, i);
        perm[i] = perm[k];
        perm[k] = i;
    }
    sketch_begin(s, "Transpose");
    sketch_in(s, x);
    if (dice_chance(&s->dice, 80))
        sketch_ints(s, "perm", perm, rank);
    sketch_end_1(s);
}

void grow_concat(sketch *s)
{
    int32_t x = grow_any(s, 1, 4), in[4], n = (int32_t)dice_int(&s->dice, 1, 4);
    if (x == NO_TERM)
        return;
    int32_t rank = grow_shape_of(s, x)->rank;
    int64_t axis = grow_axis(s, rank);
    in[0] = x;
    for (int32_t i = 1; i < n; i++) {
        graph_shape shape = *grow_shape_of(s, x);
        if (dice_chance(&s->dice, 60))
            shape.dim[axis < 0 ? axis + rank : axis] = dice_int(&s->dice, 1, 4);
        in[i] = dice_chance(&s->dice, 25) ? x : grow_weight(s, &shape, ANY);
    }
    sketch_begin(s, "Concat");
    for (int32_t i = 0; i < n; i++)
        sketch_in(s, in[i]);
    sketch_int(s, "axis", axis);
    sketch_end_1(s);
}

void grow_split(sketch *s)
{
    int32_t x = grow_any(s, 1, 4), out[4];
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int64_t axis = grow_axis(s, shape.rank), size = shape.dim[axis < 0 ? axis + shape.rank : axis];
    int32_t n = (int32_t)dice_int(&s->dice, 1, size < 4 ? size : 4);
    int64_t parts[4], left = size;
    for (int32_t i = 0; i < n; i++) {
        parts[i] = i == n - 1 ? left : dice_int(&s->dice, 1, left - (n - 1 - i));
        left -= parts[i];
    }
    bool equal = dice_chance(&s->dice, 40) && (size % n == 0 || s->opset >= 18);
    sketch_begin(s, "Split");
    sketch_in(s, x);
    if (!equal && s->opset >= 13)
        sketch_in(s, sketch_const_ints(s, parts, n));
    else if (!equal)
        sketch_ints(s, "split", parts, n);
    else if (s->opset >= 18)
        sketch_int(s, "num_outputs", n);
    sketch_int(s, "axis", axis);
    sketch_end(s, n, out);
}

void grow_slice(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int64_t axes[GRAPH_RANK], starts[GRAPH_RANK], ends[GRAPH_RANK], steps[GRAPH_RANK];
    int64_t n = grow_some_axes(s, shape.rank, axes);
    for (int64_t i = 0; i < n; i++) {
        static const int64_t all_steps[] = {1, 1, 1, 2, 3, -1, -2};
        int64_t size = shape.dim[axes[i] < 0 ? axes[i] + shape.rank : axes[i]];
        int64_t a = dice_int(&s->dice, 0, size - 1), b = dice_int(&s->dice, 0, size - 1);
        int64_t low = a < b ? a : b, high = a < b ? b : a;
        steps[i] = DICE_OF(&s->dice, all_steps);
        starts[i] = steps[i] > 0 ? low : high;
        ends[i] = steps[i] > 0 ? high + 1 : low == 0 ? INT64_MIN : low - 1;
        starts[i] -= dice_chance(&s->dice, 30) ? size : 0;
        if (steps[i] > 0 && high == size - 1 && dice_chance(&s->dice, 50))
            ends[i] = INT64_MAX;
        else if (ends[i] >= 0 && ends[i] < size && dice_chance(&s->dice, 30))
            ends[i] -= size;
    }
    sketch_begin(s, "Slice");
    sketch_in(s, x);
    sketch_in(s, sketch_const_ints(s, starts, n));
    sketch_in(s, sketch_const_ints(s, ends, n));
    sketch_in(s, sketch_const_ints(s, axes, n));
    sketch_in(s, sketch_const_ints(s, steps, n));
    sketch_end_1(s);
}

void grow_expand(sketch *s)
{
    int32_t x = grow_any(s, 0, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int32_t more = (int32_t)dice_int(&s->dice, 0, 1);
    int64_t dims[GRAPH_RANK] = {dice_int(&s->dice, 1, 3)};
    for (int32_t i = 0; i < shape.rank; i++)
        dims[more + i] = shape.dim[i] != 1 && dice_chance(&s->dice, 70) ? shape.dim[i]
                         : shape.dim[i] == 1                            ? dice_int(&s->dice, 1, 4)
                                                                        : 1;
    sketch_call(s, "Expand", x, sketch_const_ints(s, dims, shape.rank + more), NO_TERM);
}

void grow_tile(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    int64_t times[GRAPH_RANK];
    for (int i = 0; i < GRAPH_RANK; i++)
        times[i] = dice_int(&s->dice, 1, 3);
    if (x != NO_TERM)
        sketch_call(s, "Tile", x, sketch_const_ints(s, times, grow_shape_of(s, x)->rank), NO_TERM);
}

void grow_pad(sketch *s)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    const char *mode = modes[dice_int(&s->dice, 0, s->opset >= 19 ? 3 : 2)];
    int64_t pads[2 * GRAPH_RANK] = {0};
    bool is_constant = mode == modes[0];
    for (int32_t i = 0; i < 2 * shape.rank; i++) {
        int64_t size = shape.dim[i % shape.rank], most = size - 1 < 2 ? size - 1 : 2;
        if (dice_chance(&s->dice, 50))
            pads[i] = dice_int(&s->dice, is_constant && size > 3 ? -1 : 0, is_constant ? 2 : most);
    }
    int32_t amounts = sketch_const_ints(s, pads, 2 * shape.rank), value = NO_TERM;
    double number = dice_real(&s->dice, -1, 1);
    if (is_constant && dice_chance(&s->dice, 50))
        value = sketch_const(s, DT_F32, &(graph_shape){.rank = 0}, &number);
    sketch_begin(s, "Pad");
    sketch_in(s, x);
    sketch_in(s, amounts);
    if (value != NO_TERM)
        sketch_in(s, value);
    if (!is_constant || dice_chance(&s->dice, 50))
        sketch_string(s, "mode", mode);
    sketch_end_1(s);
}

static void blocks(sketch *s, const char *type, int64_t channels, int64_t sides)
{
    int64_t block = dice_int(&s->dice, 1, 2);
    int32_t x = grow_weight_of(s, 4, dice_int(&s->dice, 1, 2),
                               dice_int(&s->dice, 1, 2) * (channels ? block * block : 1),
                               dice_int(&s->dice, 1, 3) * (sides ? block : 1),
                               dice_int(&s->dice, 1, 3) * (sides ? block : 1));
    x = dice_chance(&s->dice, 50) ? sketch_call(s, "Tanh", x, NO_TERM, NO_TERM) : x;
    sketch_begin(s, type);
    sketch_in(s, x);
    sketch_int(s, "blocksize", block);
    if (channels && dice_chance(&s->dice, 60))
        sketch_string(s, "mode", dice_chance(&s->dice, 70) ? "CRD" : "DCR");
    sketch_end_1(s);
}

void grow_depth_to_space(sketch *s)
{
    blocks(s, "DepthToSpace", 1, 0);
}

void grow_space_to_depth(sketch *s)
{
    blocks(s, "SpaceToDepth", 0, 1);
}

void grow_trilu(sketch *s)
{
    int32_t x = grow_any(s, 2, 4);
    int32_t k =
        dice_chance(&s->dice, 60) ? sketch_const_int(s, dice_int(&s->dice, -2, 2)) : NO_TERM;
    sketch_begin(s, "Trilu");
    sketch_in(s, x);
    if (k != NO_TERM)
        sketch_in(s, k);
    if (dice_chance(&s->dice, 60))
        sketch_int(s, "upper", dice_int(&s->dice, 0, 1));
    sketch_end_1(s);
}

void grow_cum_sum(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    int32_t axis = sketch_const_int(s, grow_axis(s, grow_shape_of(s, x)->rank));
    sketch_begin(s, "CumSum");
    sketch_in(s, x);
    sketch_in(s, axis);
    sketch_int(s, "exclusive", dice_int(&s->dice, 0, 1));
    sketch_int(s, "reverse", dice_int(&s->dice, 0, 1));
    sketch_end_1(s);
}

void grow_identity(sketch *s)
{
    int32_t x = grow_any(s, 0, 5);
    for (int64_t n = dice_int(&s->dice, 1, 2); n-- > 0 && x != NO_TERM;)
        x = sketch_call(s, "Identity", x, NO_TERM, NO_TERM);
}
