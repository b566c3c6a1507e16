/* Integers, shapes and what follows from them, most of it known before the run, and what reads it
 * then. */
#include "differential/grow.h"

#include <string.h>

static int32_t cast_to_float(sketch *s, int32_t x)
{
    if (x == NO_TERM)
        return NO_TERM;
    sketch_begin(s, "Cast");
    sketch_in(s, x);
    sketch_int(s, "to", 1);
    return sketch_end_1(s);
}

/* With data, so that something is left to run. */
static void combine(sketch *s, int32_t known)
{
    if (known == NO_TERM)
        return;
    int32_t x = cast_to_float(s, known);
    if (x != NO_TERM)
        sketch_call(s, dice_chance(&s->dice, 50) ? "Add" : "Mul", x, grow_partner(s, x, false),
                    NO_TERM);
}

void grow_range(sketch *s)
{
    int64_t start = dice_int(&s->dice, -3, 3),
            step = dice_chance(&s->dice, 70) ? dice_int(&s->dice, 1, 3) : -1;
    int64_t n = dice_int(&s->dice, 1, 5), more = step > 1 ? dice_int(&s->dice, 0, step - 1) : 0;
    int32_t from = sketch_const_int(s, start), to = sketch_const_int(s, start + n * step - more);
    int32_t by = sketch_const_int(s, step);
    combine(s, sketch_call(s, "Range", from, to, by));
}

/* ConstantOfShape of a shape that is written, or that some value has. */
void grow_filled(sketch *s)
{
    int32_t shape = NO_TERM;
    if (dice_chance(&s->dice, 50)) {
        shape = sketch_call(s, "Shape", grow_any(s, 1, 4), NO_TERM, NO_TERM);
    } else {
        graph_shape dims = grow_shape(s, 1, 3);
        shape = sketch_const_ints(s, dims.dim, dims.rank);
    }
    if (shape == NO_TERM)
        return;
    sketch_begin(s, "ConstantOfShape");
    sketch_in(s, shape);
    int32_t y = sketch_end_1(s);
    if (y != NO_TERM)
        sketch_call(s, "Add", y, grow_partner(s, y, false), NO_TERM);
}

void grow_eye(sketch *s)
{
    int32_t x = grow_any(s, 2, 2);
    sketch_begin(s, "EyeLike");
    sketch_in(s, x);
    if (dice_chance(&s->dice, 60))
        sketch_int(s, "k", dice_int(&s->dice, -2, 2));
    int32_t y = sketch_end_1(s);
    if (y != NO_TERM)
        sketch_call(s, "Mul", y, x, NO_TERM);
}

/* NonZero of a mask, and what stands there. */
void grow_places(sketch *s)
{
    int32_t x = grow_any(s, 1, 2);
    double bits[64];
    if (x == NO_TERM || s->terms[x].n > 64)
        return;
    for (int64_t i = 0; i < s->terms[x].n; i++)
        bits[i] = i == 0 || dice_chance(&s->dice, 50);
    int32_t mask = sketch_const(s, DT_BOOL, grow_shape_of(s, x), bits);
    int32_t where = sketch_call(s, "NonZero", mask, NO_TERM, NO_TERM);
    sketch_begin(s, "Transpose");
    sketch_in(s, where);
    where = where == NO_TERM ? NO_TERM : sketch_end_1(s);
    if (where != NO_TERM)
        sketch_call(s, "GatherND", x, where, NO_TERM);
}

/* Arithmetic of sizes, as x / math.prod(y.shape[1:]) becomes. */
void grow_sizes(sketch *s)
{
    static const char *const types[] = {"Add", "Sub", "Mul", "Div", "Max", "Min", "Mod"};
    int32_t x = grow_any(s, 1, 4), y = grow_any(s, 1, 4);
    if (x == NO_TERM || y == NO_TERM)
        return;
    int32_t a = sketch_call(s, "Shape", x, NO_TERM, NO_TERM);
    int32_t b = dice_chance(&s->dice, 50) ? sketch_call(s, "Size", y, NO_TERM, NO_TERM)
                                          : sketch_const_int(s, dice_int(&s->dice, 1, 4));
    if (a == NO_TERM || b == NO_TERM)
        return;
    sketch_begin(s, "ReduceProd");
    sketch_in(s, a);
    sketch_int(s, "keepdims", dice_int(&s->dice, 0, 1));
    a = sketch_end_1(s);
    if (a != NO_TERM)
        combine(s, sketch_call(s, DICE_OF(&s->dice, types), a, b, NO_TERM));
}

/* Integers that are fed: nothing of them is known. */
void grow_integers(sketch *s)
{
    static const char *const types[] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
    graph_shape shape = grow_shape(s, 0, 3);
    double values[256];
    int64_t n = graph_shape_elements(&shape);
    if (n > 256)
        return;
    dtype type = dice_chance(&s->dice, 30) ? DT_I32 : DT_I64;
    for (int64_t i = 0; i < n; i++)
        values[i] = (double)dice_int(&s->dice, -9, 9);
    int32_t x = sketch_fed(s, type, &shape, values);
    double other = (double)(dice_int(&s->dice, 1, 4) * (dice_chance(&s->dice, 30) ? -1 : 1));
    int32_t y = sketch_const(s, type, &(graph_shape){.rank = 0}, &other);
    if (x == NO_TERM || y == NO_TERM)
        return;
    int32_t z = sketch_call(s, DICE_OF(&s->dice, types), x, y, NO_TERM);
    if (dice_chance(&s->dice, 40))
        z = sketch_call(s, "Less", z, y, NO_TERM);
    combine(s, z);
}
