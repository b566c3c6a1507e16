/*
 * Growing a sketch: each grower appends an operator, or several that belong together, with random
 * legal attributes, over values that are there or new ones. What a sketch refuses is simply not
 * there. A new operator is a row of growers.def and a function in the file of its family.
 * Threads: one at a time.
 */
#ifndef TEQUIO_TESTS_DIFFERENTIAL_GROW_H
#define TEQUIO_TESTS_DIFFERENTIAL_GROW_H

#include "differential/sketch.h"

/* Appends 3 to 15 nodes or a few more. */
void grow(sketch *s);

typedef void grower(sketch *s);
#define GROWER(name, share, opset) grower grow_##name;
#include "differential/growers.def"
#undef GROWER

/* --- what growers take --- */

/* Where elements of new weights lie. */
typedef enum domain {
    ANY,      /* normal */
    POSITIVE, /* 0.3 .. 2 */
    INSIDE,   /* -0.8 .. 0.8 */
    ABOVE_ONE,
} domain;

graph_shape grow_shape(sketch *s, int32_t low, int32_t high); /* of a rank in between */
int32_t grow_weight(sketch *s, const graph_shape *shape, domain d);
/* The shape as a list: grow_weight_of(s, 3, n, c, w). */
int32_t grow_weight_of(sketch *s, int32_t rank, ...);
/* A float of a rank low .. high: one that is there, or a new weight. NO_TERM if there is no room.
 */
int32_t grow_any(sketch *s, int32_t low, int32_t high);
/* One that is there, NO_TERM if none is. */
int32_t grow_old(sketch *s, dtype t, int32_t low, int32_t high);
/* A float that broadcasts with x, and whose shape is not larger if `within`. */
int32_t grow_partner(sketch *s, int32_t x, bool within);

/* Values that are known with so many chances in a hundred, and fed otherwise. */
int32_t grow_const_or_fed(sketch *s, int percent, dtype t, const graph_shape *shape,
                          const double *values);

const graph_shape *grow_shape_of(const sketch *s, int32_t t);
/* An axis of x, counted from either end. */
int64_t grow_axis(sketch *s, int32_t rank);
/* Axes that are the operator's attribute or its last input, as the opset says: input from `opset`
 * on. */
void grow_axes(sketch *s, const int64_t *axes, int64_t n, int64_t opset);
/* Some axes of a rank, each once, from either end; returns how many. */
int64_t grow_some_axes(sketch *s, int32_t rank, int64_t *ret);

#endif
