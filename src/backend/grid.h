/*
 * GridSample: the elements and weights that a position of the grid means, in one arithmetic for all
 * backends. Pure functions.
 */
#ifndef TEQUIO_BACKEND_GRID_H
#define TEQUIO_BACKEND_GRID_H

#include "backend/math.h"

#include <stdbool.h>

enum {
    GRID_AXES = 3,
    GRID_PER_AXIS = 4,
    GRID_LONGEST = 64,       /* elements a position: cubic, three axes */
    GRID_FURTHEST = 1 << 24, /* a position further away counts as nowhere */
};

/* Elements a coordinate means. */
typedef enum grid_filter {
    GRID_BY_ONE = 1,  /* the nearest */
    GRID_BY_TWO = 2,  /* linear */
    GRID_BY_FOUR = 4, /* cubic */
} grid_filter;

/* What is beyond the edge. */
typedef enum grid_beyond { GRID_IS_ZERO, GRID_IS_EDGE, GRID_IS_MIRRORED } grid_beyond;

typedef struct grid_plane {
    grid_filter filter;
    grid_beyond beyond;
    bool align_corners, pixels;
    int axes;
    int per_position;                           /* elements: filter to the power of axes */
    int64_t size[GRID_AXES], stride[GRID_AXES]; /* of the spatial axes of x */
    int64_t n, channels, elements, positions;   /* of x and of y, in a plane */
} grid_plane;

/* What a coordinate means along its axis. */
typedef struct grid_axis {
    int64_t at[GRID_PER_AXIS]; /* -1: nothing */
    float weight[GRID_PER_AXIS], derivative[GRID_PER_AXIS];
} grid_axis;

INLINE float grid_floor(float x)
{
    float whole = (float)(int32_t)x;
    return whole > x ? whole - 1.0f : whole;
}

/* x folded back into low .. high; *derivative changes its sign with every fold. */
INLINE float grid_folded(float x, float low, float high, float *derivative)
{
    float range = high - low, over = x < low ? low - x : x - high;
    if (range <= 0.0f || over <= 0.0f)
        return range <= 0.0f ? low : x;
    float folds = grid_floor(over / range), rest = over - folds * range;
    bool even = folds == 2.0f * grid_floor(folds / 2.0f);
    if (even)
        *derivative = -*derivative;
    return (x < low) == even ? low + rest : high - rest;
}

/* Keys' cubic and its derivative at distance d, of either sign. */
INLINE float grid_cubic(float d, float *ret_derivative)
{
    const float a = -0.75f;
    float t = d < 0 ? -d : d, sign = d < 0 ? -1.0f : 1.0f;
    if (t <= 1.0f) {
        *ret_derivative = sign * (3 * (a + 2) * t - 2 * (a + 3)) * t;
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    }
    *ret_derivative = t < 2.0f ? sign * a * ((3 * t - 10) * t + 8) : 0.0f;
    return t < 2.0f ? a * (((t - 5) * t + 8) * t - 4) : 0.0f;
}

/* The element that index i means, -1 for none. */
INLINE int64_t grid_index(const grid_plane *s, int64_t i, int64_t size)
{
    float ignored = 1.0f, edge = s->align_corners ? 0.0f : 0.5f;
    if (i >= 0 && i < size)
        return i;
    if (s->beyond == GRID_IS_ZERO)
        return -1;
    if (s->beyond == GRID_IS_MIRRORED)
        i = (int64_t)grid_folded((float)i, -edge, (float)(size - 1) + edge, &ignored);
    return i < 0 ? 0 : i >= size ? size - 1 : i;
}

/* The position on the axis that coordinate g names, and its derivative. */
INLINE float grid_unfold(const grid_plane *s, float g, int64_t size, float *derivative)
{
    float n = (float)size, edge = s->align_corners ? 0.0f : 0.5f;
    float at = s->align_corners ? (g + 1) * 0.5f * (n - 1) : ((g + 1) * n - 1) * 0.5f;
    *derivative = s->align_corners ? 0.5f * (n - 1) : 0.5f * n;
    if (s->pixels) {
        at = g;
        *derivative = 1.0f;
    }
    if (!(at > -GRID_FURTHEST && at < GRID_FURTHEST))
        return GRID_FURTHEST;
    if (s->filter == GRID_BY_ONE)
        at = vec_round(at);
    if (at >= -edge && at <= n - 1 + edge)
        return at;
    if (s->beyond == GRID_IS_MIRRORED)
        return grid_folded(at, -edge, n - 1 + edge, derivative);
    if (s->beyond == GRID_IS_EDGE) {
        *derivative = 0.0f;
        return at < 0 ? 0.0f : n - 1;
    }
    return at;
}

INLINE void grid_find_axis(const grid_plane *s, float g, int64_t size, grid_axis *ret)
{
    float derivative, at = grid_unfold(s, g, size, &derivative);
    bool nowhere = at >= GRID_FURTHEST;
    int64_t low = (int64_t)grid_floor(at), first = s->filter == GRID_BY_FOUR ? low - 1 : low;
    for (int k = 0; k < (int)s->filter; k++) {
        float d = at - (float)(first + k);
        ret->at[k] = nowhere ? -1 : grid_index(s, first + k, size);
        ret->weight[k] = 1.0f;
        ret->derivative[k] = 0.0f;
        if (s->filter == GRID_BY_TWO) {
            ret->weight[k] = k ? d + 1 : 1 - d;
            ret->derivative[k] = k ? derivative : -derivative;
        } else if (s->filter == GRID_BY_FOUR) {
            ret->weight[k] = grid_cubic(d, &ret->derivative[k]);
            ret->derivative[k] *= derivative;
        }
    }
}

/* The coordinates g of a position; the last one is the first axis'. */
INLINE void grid_find(const grid_plane *s, const float *g, grid_axis *ret)
{
    for (int d = 0; d < s->axes; d++)
        grid_find_axis(s, g[s->axes - 1 - d], s->size[d], &ret[d]);
}

/* Element k of a position: where, and its weight; 0 and 0 for nothing. */
INLINE int64_t grid_element(const grid_plane *s, const grid_axis *axis, int k, float *ret_weight)
{
    int64_t at = 0;
    float weight = 1.0f;
    for (int d = s->axes - 1; d >= 0; d--) {
        int which = k % (int)s->filter;
        k /= (int)s->filter;
        weight *= axis[d].weight[which];
        int64_t i = axis[d].at[which];
        at = at < 0 || i < 0 ? -1 : at + i * s->stride[d];
    }
    *ret_weight = at < 0 ? 0.0f : weight;
    return at < 0 ? 0 : at;
}

/* What its weight changes with coordinate `by`; of an element that there is. */
INLINE float grid_derivative(const grid_plane *s, const grid_axis *axis, int k, int by)
{
    int which[GRID_AXES];
    for (int d = s->axes - 1; d >= 0; d--) {
        which[d] = k % (int)s->filter;
        k /= (int)s->filter;
        if (axis[d].at[which[d]] < 0)
            return 0.0f;
    }
    float derivative = 1.0f;
    for (int d = 0; d < s->axes; d++)
        derivative *= d == by ? axis[d].derivative[which[d]] : axis[d].weight[which[d]];
    return derivative;
}

#endif
