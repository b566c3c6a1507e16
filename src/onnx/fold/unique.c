/* The fold of Unique: the different elements, or slices along an axis, of a known tensor. */
#include "onnx/fold/fold.h"

#include <stdlib.h>
#include <string.h>

/* Item i is the elements [outer, i, inner] in order. */
typedef struct items {
    const host_tensor *x;
    int64_t outer, n, inner;
} items;

/* What is no number stands behind all, and is alike. */
static int compare_numbers(double a, double b)
{
    if (a != a || b != b)
        return (a != a) - (b != b);
    return (a > b) - (a < b);
}

static int compare(const items *s, int64_t a, int64_t b)
{
    int order = 0;
    for (int64_t k = 0; k < s->outer * s->inner && order == 0; k++) {
        int64_t row = k / s->inner * s->n, at = k % s->inner;
        int64_t i = (row + a) * s->inner + at, j = (row + b) * s->inner + at;
        if (host_is_float(s->x)) {
            order = compare_numbers(host_get(s->x, i), host_get(s->x, j));
        } else {
            int64_t left = host_get_int(s->x, i), right = host_get_int(s->x, j);
            order = (left > right) - (left < right);
        }
    }
    return order;
}

/* Of alike ones the first comes first. */
static int by_value(const void *a, const void *b, void *s)
{
    int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    int order = compare(s, i, j);
    return order ? order : (i > j) - (i < j);
}

static int by_place(const void *a, const void *b, void *first)
{
    int64_t i = ((const int64_t *)first)[*(const int64_t *)a];
    int64_t j = ((const int64_t *)first)[*(const int64_t *)b];
    return (i > j) - (i < j);
}

/* Groups of alike items: where each was met first, whose group each item is, how many it has. */
typedef struct groups {
    int64_t n;
    int64_t *first, *of_item, *count; /* [items] */
} groups;

static void find_groups(arena *a, items *s, bool sorted, groups *ret)
{
    size_t bytes = (size_t)s->n * sizeof(int64_t);
    int64_t *order = arena_alloc(a, bytes), *rank = arena_alloc(a, bytes);
    int64_t *first = arena_alloc(a, bytes), *number = arena_alloc(a, bytes), n = 0;
    groups g = {.first = arena_alloc(a, bytes),
                .of_item = arena_alloc(a, bytes),
                .count = arena_alloc(a, bytes)};
    for (int64_t i = 0; i < s->n; i++)
        order[i] = i;
    qsort_r(order, (size_t)s->n, sizeof *order, by_value, s);
    for (int64_t i = 0; i < s->n; i++) {
        if (i == 0 || compare(s, order[i - 1], order[i]) != 0) {
            number[n] = n;
            first[n++] = order[i];
        }
        g.of_item[order[i]] = n - 1;
    }
    if (!sorted)
        qsort_r(number, (size_t)n, sizeof *number, by_place, first);
    for (int64_t k = 0; k < n; k++) {
        rank[number[k]] = k;
        g.first[k] = first[number[k]];
    }
    for (int64_t i = 0; i < s->n; i++)
        g.count[g.of_item[i] = rank[g.of_item[i]]]++;
    g.n = n;
    *ret = g;
}

static status items_of(call *c, const host_tensor *x, items *ret, int32_t *ret_axis, error *err)
{
    *ret = (items){.x = x, .outer = 1, .n = x->n, .inner = 1};
    *ret_axis = -1;
    if (!call_attribute(c, "axis"))
        return OK;
    TRY(call_axis(call_int_or(c, "axis", 0), x->shape.rank, ret_axis, err));
    ret->n = x->shape.dim[*ret_axis];
    ret->inner = onnx_fold_stride(&x->shape, *ret_axis);
    for (int32_t i = 0; i < *ret_axis; i++)
        ret->outer *= x->shape.dim[i];
    return OK;
}

status onnx_fold_unique(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    items s;
    groups g;
    int32_t axis;
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(items_of(c, x, &s, &axis, err));
    if (x->n > FOLD_MOST || s.n > FOLD_MOST)
        return OK;
    find_groups(c->im->a, &s, call_int(c, "sorted") != 0, &g);
    graph_shape shape = {.rank = 1, .dim = {g.n}};
    if (axis >= 0) {
        shape = x->shape;
        shape.dim[axis] = g.n;
    }
    TRY(onnx_fold_result(c, x->dtype, &shape, &y, err));
    for (int64_t i = 0; i < y->n; i++) {
        int64_t outer = i / s.inner / g.n, k = i / s.inner % g.n;
        host_copy(y, i, x, (outer * s.n + g.first[k]) * s.inner + i % s.inner);
    }
    call_return_host(c, 1, host_ints(c->im->a, g.n, g.first));
    call_return_host(c, 2, host_ints(c->im->a, s.n, g.of_item));
    call_return_host(c, 3, host_ints(c->im->a, g.n, g.count));
    return OK;
}
