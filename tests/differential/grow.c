#include "differential/grow.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WEIGHT = 240, TRIES = 400 };

typedef struct growth {
    grower *grow;
    int share; /* how often, relative to others */
    int64_t opset;
} growth;

static const growth growers[] = {
#define GROWER(name, share, opset) {grow_##name, share, opset},
#include "differential/growers.def"
#undef GROWER
};

void grow(sketch *s)
{
    int shares = 0;
    int32_t n = (int32_t)dice_int(&s->dice, 3, 15);
    for (size_t i = 0; i < COUNT_OF(growers); i++)
        shares += growers[i].share;
    for (int tries = 0; s->n_nodes < n && tries < TRIES; tries++) {
        int64_t at = dice_int(&s->dice, 0, shares - 1);
        const growth *g = growers;
        for (; at >= g->share; g++)
            at -= g->share;
        if (s->opset >= g->opset)
            g->grow(s);
    }
}

/* --- what growers take --- */

graph_shape grow_shape(sketch *s, int32_t low, int32_t high)
{
    static const int64_t sizes[] = {1, 1, 2, 2, 3, 3, 4, 5, 6, 7};
    graph_shape shape = {.rank = (int32_t)dice_int(&s->dice, low, high)};
    for (int32_t i = 0; i < shape.rank; i++)
        shape.dim[i] = DICE_OF(&s->dice, sizes);
    for (int32_t i = 0; graph_shape_elements(&shape) > MOST_WEIGHT; i++)
        shape.dim[i] = 1;
    return shape;
}

static double number_in(sketch *s, domain d)
{
    switch (d) {
    case POSITIVE:
        return dice_real(&s->dice, 0.3, 2.0);
    case INSIDE:
        return dice_real(&s->dice, -0.8, 0.8);
    case ABOVE_ONE:
        return dice_real(&s->dice, 1.2, 3.0);
    default:
        return dice_normal(&s->dice);
    }
}

/* Mostly a weight; sometimes an input of the model. */
int32_t grow_weight(sketch *s, const graph_shape *shape, domain d)
{
    int64_t n = graph_shape_elements(shape);
    if (n > 4 * MOST_WEIGHT)
        return NO_TERM;
    double *values = xcalloc((size_t)n + 1, sizeof *values);
    for (int64_t i = 0; i < n; i++)
        values[i] = number_in(s, d);
    int32_t t = dice_chance(&s->dice, 12) ? sketch_fed(s, DT_F32, shape, values)
                                          : sketch_weight(s, shape, values);
    free(values);
    return t;
}

int32_t grow_weight_of(sketch *s, int32_t rank, ...)
{
    graph_shape shape = {.rank = rank};
    va_list dims;
    va_start(dims, rank);
    for (int32_t i = 0; i < rank; i++)
        shape.dim[i] = va_arg(dims, int64_t);
    va_end(dims);
    return grow_weight(s, &shape, ANY);
}

/* What is masked goes where its pattern leads it, and nowhere else. */
static bool is_masked(const term *t)
{
    bool masked = false;
    for (int64_t i = 0; i < t->n && t->type == DT_F32; i++)
        masked |= !sketch_is_moderate(t->x[POINT_HERE][i]);
    return masked;
}

int32_t grow_old(sketch *s, dtype t, int32_t low, int32_t high)
{
    int32_t fits[SKETCH_TERMS], n = 0;
    for (int32_t i = 0; i < s->n_terms; i++) {
        const term *at = &s->terms[i];
        if (at->type == t && at->shape.rank >= low && at->shape.rank <= high &&
            at->kind != TERM_INITIALIZER && at->kind != TERM_CONSTANT && !is_masked(at))
            fits[n++] = i;
    }
    if (n == 0)
        return NO_TERM;
    /* the later, the likelier */
    int64_t one = dice_int(&s->dice, 0, n - 1), other = dice_int(&s->dice, 0, n - 1);
    return fits[one > other ? one : other];
}

int32_t grow_any(sketch *s, int32_t low, int32_t high)
{
    int32_t old = dice_chance(&s->dice, 85) ? grow_old(s, DT_F32, low, high) : NO_TERM;
    if (old != NO_TERM)
        return old;
    graph_shape shape = grow_shape(s, low, high);
    return grow_weight(s, &shape, ANY);
}

static bool broadcasts(const graph_shape *small, const graph_shape *large)
{
    bool fits = small->rank <= large->rank;
    for (int32_t i = 0; fits && i < small->rank; i++) {
        int64_t to = large->dim[large->rank - small->rank + i];
        fits = small->dim[i] == 1 || small->dim[i] == to;
    }
    return fits;
}

int32_t grow_partner(sketch *s, int32_t x, bool within)
{
    graph_shape shape = s->terms[x].shape;
    for (int tries = 0; tries < 6 && dice_chance(&s->dice, 70); tries++) {
        int32_t old = grow_old(s, DT_F32, 0, GRAPH_RANK);
        if (old != NO_TERM && (broadcasts(&s->terms[old].shape, &shape) ||
                               (!within && broadcasts(&shape, &s->terms[old].shape))))
            return old;
    }
    int32_t cut = dice_chance(&s->dice, 40) ? (int32_t)dice_int(&s->dice, 0, shape.rank) : 0;
    memmove(shape.dim, shape.dim + cut, (size_t)(shape.rank - cut) * sizeof *shape.dim);
    shape.rank -= cut;
    for (int32_t i = 0; i < shape.rank; i++)
        shape.dim[i] = dice_chance(&s->dice, 25)                                   ? 1
                       : !within && shape.dim[i] == 1 && dice_chance(&s->dice, 30) ? 3
                                                                                   : shape.dim[i];
    return grow_weight(s, &shape, ANY);
}

const graph_shape *grow_shape_of(const sketch *s, int32_t t)
{
    return &s->terms[t].shape;
}

int32_t grow_const_or_fed(sketch *s, int percent, dtype t, const graph_shape *shape,
                          const double *values)
{
    return dice_chance(&s->dice, percent) ? sketch_const(s, t, shape, values)
                                          : sketch_fed(s, t, shape, values);
}

int64_t grow_axis(sketch *s, int32_t rank)
{
    int64_t axis = dice_int(&s->dice, 0, rank - 1);
    return s->opset >= 11 && dice_chance(&s->dice, 40) ? axis - rank : axis;
}

void grow_axes(sketch *s, const int64_t *axes, int64_t n, int64_t opset)
{
    if (s->opset >= opset)
        sketch_in(s, sketch_const_ints(s, axes, n));
    else
        sketch_ints(s, "axes", axes, n);
}

int64_t grow_some_axes(sketch *s, int32_t rank, int64_t *ret)
{
    int64_t n = 0;
    for (int32_t i = 0; i < rank; i++)
        if (dice_chance(&s->dice, 45))
            ret[n++] = s->opset >= 11 && dice_chance(&s->dice, 40) ? i - rank : i;
    if (n == 0 && rank > 0)
        ret[n++] = grow_axis(s, rank);
    if (n > 1 && s->opset >= 11 && dice_chance(&s->dice, 20)) {
        int64_t first = ret[0];
        ret[0] = ret[n - 1];
        ret[n - 1] = first;
    }
    return n;
}
