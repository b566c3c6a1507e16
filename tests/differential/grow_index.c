#include "differential/grow.h"

#include <string.h>

enum { MOST_INDICES = 512 };

/* Indices below `size`, from either end, known or fed; distinct along the last axis if asked for.
 */
static int32_t indices(sketch *s, const graph_shape *shape, int64_t size)
{
    double values[MOST_INDICES];
    int64_t n = graph_shape_elements(shape);
    if (n > MOST_INDICES)
        return NO_TERM;
    bool negative = dice_chance(&s->dice, 30);
    for (int64_t i = 0; i < n; i++)
        values[i] = (double)dice_int(&s->dice, negative ? -size : 0, size - 1);
    dtype t = dice_chance(&s->dice, 25) ? DT_I32 : DT_I64;
    return grow_const_or_fed(s, 50, t, shape, values);
}

static int64_t positive(int64_t axis, int32_t rank)
{
    return axis < 0 ? axis + rank : axis;
}

void grow_gather(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    graph_shape picks = grow_shape(s, 0, 2);
    int64_t axis = grow_axis(s, shape.rank);
    int32_t i = indices(s, &picks, shape.dim[positive(axis, shape.rank)]);
    sketch_begin(s, "Gather");
    sketch_in(s, x);
    sketch_in(s, i);
    if (axis != 0 || dice_chance(&s->dice, 50))
        sketch_int(s, "axis", axis);
    sketch_end_1(s);
}

void grow_gather_elements(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    graph_shape picks = shape;
    int64_t axis = grow_axis(s, shape.rank), at = positive(axis, shape.rank);
    for (int32_t i = 0; i < shape.rank; i++)
        picks.dim[i] = i == at ? dice_int(&s->dice, 1, 4) : dice_int(&s->dice, 1, shape.dim[i]);
    int32_t i = indices(s, &picks, shape.dim[at]);
    sketch_begin(s, "GatherElements");
    sketch_in(s, x);
    sketch_in(s, i);
    sketch_int(s, "axis", axis);
    sketch_end_1(s);
}

/* Tuples of `depth` indices into the axes of `shape` after the first `batch`. */
static int32_t tuples(sketch *s, const graph_shape *lead, const graph_shape *shape, int32_t batch,
                      int32_t depth, bool distinct)
{
    double values[MOST_INDICES];
    graph_shape all = *lead;
    all.dim[all.rank++] = depth;
    int64_t n = graph_shape_elements(lead), places = 1;
    for (int32_t k = 0; k < depth; k++)
        places *= shape->dim[batch + k];
    if (n * depth > MOST_INDICES || (distinct && n > places))
        return NO_TERM;
    int64_t start = dice_int(&s->dice, 0, places - 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t place = distinct ? (start + i) % places : dice_int(&s->dice, 0, places - 1);
        for (int32_t k = depth; k-- > 0;) {
            int64_t size = shape->dim[batch + k];
            values[i * depth + k] = (double)(place % size - (dice_chance(&s->dice, 20) ? size : 0));
            place /= size;
        }
    }
    return grow_const_or_fed(s, 50, DT_I64, &all, values);
}

void grow_gather_nd(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int32_t batch = dice_chance(&s->dice, 40) ? (int32_t)dice_int(&s->dice, 0, shape.rank - 1) : 0;
    int32_t depth = (int32_t)dice_int(&s->dice, 1, shape.rank - batch);
    graph_shape lead = {.rank = batch};
    memcpy(lead.dim, shape.dim, (size_t)batch * sizeof *lead.dim);
    lead.dim[lead.rank++] = dice_int(&s->dice, 1, 4);
    int32_t i = tuples(s, &lead, &shape, batch, depth, false);
    sketch_begin(s, "GatherND");
    sketch_in(s, x);
    sketch_in(s, i);
    if (batch)
        sketch_int(s, "batch_dims", batch);
    sketch_end_1(s);
}

/* Positions along the axis that differ within each line, so that the order of updates does not
 * tell. */
static int32_t places(sketch *s, const graph_shape *picks, int32_t at, int64_t size)
{
    double values[MOST_INDICES];
    int64_t n = graph_shape_elements(picks), inner = 1;
    if (n > MOST_INDICES)
        return NO_TERM;
    for (int32_t i = at + 1; i < picks->rank; i++)
        inner *= picks->dim[i];
    int64_t start = dice_int(&s->dice, 0, size - 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i / inner % picks->dim[at], line = i % inner + i / inner / picks->dim[at];
        int64_t place = (start + k + line) % size;
        values[i] = (double)(dice_chance(&s->dice, 20) ? place - size : place);
    }
    return grow_const_or_fed(s, 50, DT_I64, picks, values);
}

static void put_reduction(sketch *s, bool distinct)
{
    static const char *const some[] = {"add", "mul", "max", "min", "none"};
    int64_t most = s->opset >= 18 ? 3 : 1;
    if (s->opset >= 16 && (!distinct || dice_chance(&s->dice, 60)))
        sketch_string(s, "reduction", some[dice_int(&s->dice, 0, most)]);
}

void grow_scatter_elements(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int64_t axis = grow_axis(s, shape.rank);
    int32_t at = (int32_t)positive(axis, shape.rank);
    bool distinct = s->opset < 16 || dice_chance(&s->dice, 60);
    graph_shape picks = shape;
    for (int32_t i = 0; i < shape.rank; i++)
        picks.dim[i] = dice_int(&s->dice, 1, shape.dim[i]);
    int32_t i = distinct ? places(s, &picks, at, shape.dim[at]) : indices(s, &picks, shape.dim[at]);
    int32_t updates = grow_weight(s, &picks, ANY);
    sketch_begin(s, "ScatterElements");
    sketch_in(s, x);
    sketch_in(s, i);
    sketch_in(s, updates);
    sketch_int(s, "axis", axis);
    put_reduction(s, distinct);
    sketch_end_1(s);
}

void grow_scatter_nd(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int32_t depth = (int32_t)dice_int(&s->dice, 1, shape.rank);
    bool distinct = s->opset < 16 || dice_chance(&s->dice, 60);
    graph_shape lead = {1, {dice_int(&s->dice, 1, 3)}}, updates = lead;
    int32_t i = tuples(s, &lead, &shape, 0, depth, distinct);
    for (int32_t k = depth; k < shape.rank; k++)
        updates.dim[updates.rank++] = shape.dim[k];
    int32_t u = grow_weight(s, &updates, ANY);
    sketch_begin(s, "ScatterND");
    sketch_in(s, x);
    sketch_in(s, i);
    sketch_in(s, u);
    put_reduction(s, distinct);
    sketch_end_1(s);
}

void grow_one_hot(sketch *s)
{
    graph_shape shape = grow_shape(s, 0, 2);
    int64_t depth = dice_int(&s->dice, 1, 4);
    int32_t i = indices(s, &shape, depth), d = sketch_const_int(s, depth);
    double values[2] = {dice_real(&s->dice, -1, 0), dice_real(&s->dice, 0.5, 1)};
    int32_t both = sketch_const(s, DT_F32, &(graph_shape){1, {2}}, values);
    sketch_begin(s, "OneHot");
    sketch_in(s, i);
    sketch_in(s, d);
    sketch_in(s, both);
    if (dice_chance(&s->dice, 60))
        sketch_int(s, "axis", dice_int(&s->dice, -shape.rank - 1, shape.rank));
    int32_t y = sketch_end_1(s);
    if (y != NO_TERM)
        sketch_call(s, "Mul", y, grow_partner(s, y, false), NO_TERM);
}

void grow_reverse_sequence(sketch *s)
{
    int32_t x = grow_any(s, 2, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    int64_t time = dice_int(&s->dice, 0, 1), batch = 1 - time;
    double lengths[64];
    if (shape.dim[batch] > 64)
        return;
    for (int64_t i = 0; i < shape.dim[batch]; i++)
        lengths[i] = (double)dice_int(&s->dice, 1, shape.dim[time]);
    graph_shape n = {1, {shape.dim[batch]}};
    int32_t l = grow_const_or_fed(s, 50, DT_I64, &n, lengths);
    sketch_begin(s, "ReverseSequence");
    sketch_in(s, x);
    sketch_in(s, l);
    sketch_int(s, "time_axis", time);
    sketch_int(s, "batch_axis", batch);
    sketch_end_1(s);
}

void grow_compress(sketch *s)
{
    int32_t x = grow_any(s, 1, 4);
    if (x == NO_TERM)
        return;
    const graph_shape shape = *grow_shape_of(s, x);
    bool has_axis = dice_chance(&s->dice, 70);
    int64_t axis = grow_axis(s, shape.rank);
    int64_t size = has_axis ? shape.dim[positive(axis, shape.rank)] : s->terms[x].n;
    double bits[64] = {1};
    int64_t n = dice_int(&s->dice, 1, size < 64 ? size : 64);
    for (int64_t i = 1; i < n; i++)
        bits[i] = dice_chance(&s->dice, 50);
    int32_t c = sketch_const(s, DT_BOOL, &(graph_shape){1, {n}}, bits);
    sketch_begin(s, "Compress");
    sketch_in(s, x);
    sketch_in(s, c);
    if (has_axis)
        sketch_int(s, "axis", axis);
    sketch_end_1(s);
}
