/*
 * Coordinates and weights are those of ONNX's Resize
 * (https://onnx.ai/onnx/operators/onnx__Resize.html), computed in double and rounded once. Nothing
 * here needs a library function: floors are taken by conversion.
 */
#include "graph/taps.h"

#include <string.h>

static double floor_of(double x)
{
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1 : whole;
}

static double absolute(double x)
{
    return x < 0 ? -x : x;
}

/* Where element i of the output lies on the input axis. */
static double source_of(const resize_attr *r, int32_t axis, int64_t i)
{
    double n = (double)r->x.dim[axis], scale = r->scales[axis], x = (double)i;
    double m = r->exact[axis] ? (double)r->sizes[axis] : n * scale;
    int64_t rank = r->x.rank;
    double roi = r->roi[axis], roi_end = r->roi[rank + axis];
    switch (r->coordinates) {
    case RESIZE_ALIGN_CORNERS:
        return m == 1 ? 0 : x * (n - 1) / (m - 1);
    case RESIZE_ASYMMETRIC:
        return x / scale;
    case RESIZE_CROP:
        if (m == 1)
            return 0.5 * (roi + roi_end) * (n - 1);
        return roi * (n - 1) + x * (roi_end - roi) * (n - 1) / (m - 1);
    case RESIZE_HALF_PIXEL_FOR_NEAREST:
        return (x + 0.5) / scale;
    case RESIZE_HALF_PIXEL_SYMMETRIC:
        return n / 2 * (1 - (double)r->sizes[axis] / m) + (x + 0.5) / scale - 0.5;
    case RESIZE_PYTORCH_HALF_PIXEL:
        return m == 1 ? -0.5 : (x + 0.5) / scale - 0.5;
    default:
        return (x + 0.5) / scale - 0.5;
    }
}

/* Keys' cubic; zero beyond 2. */
static double cubic(double x, double a)
{
    x = absolute(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

static double weight_at(const resize_attr *r, double distance)
{
    if (r->mode == RESIZE_CUBIC)
        return cubic(distance, (double)r->cubic_a);
    distance = absolute(distance);
    return distance < 1 ? 1 - distance : 0;
}

static int64_t nearest(const resize_attr *r, double x)
{
    double low = floor_of(x), ratio = x - low;
    bool up = false;
    if (ratio > 0) {
        up = r->nearest == RESIZE_CEIL || ratio > 0.5;
        if (r->nearest == RESIZE_PREFER_CEIL)
            up = ratio >= 0.5;
        if (r->nearest == RESIZE_FLOOR)
            up = false;
    }
    return (int64_t)low + up;
}

typedef struct tap_list {
    taps t;
    int64_t n, cap;
    arena *a;
} tap_list;

static tap_list begin_list(arena *a, int64_t n_out, int64_t n_in)
{
    tap_list l = {.t = {.n_out = n_out, .n_in = n_in}, .a = a};
    l.t.begin = arena_alloc(a, (size_t)(n_out + 1) * sizeof *l.t.begin);
    return l;
}

static void add_tap(tap_list *l, int64_t at, double weight)
{
    if (l->n == l->cap) {
        taps grown = l->t;
        l->cap = l->cap ? l->cap * 2 : l->t.n_out + 16;
        grown.at = arena_alloc(l->a, (size_t)l->cap * sizeof *grown.at);
        grown.weight = arena_alloc(l->a, (size_t)l->cap * sizeof *grown.weight);
        if (l->n) {
            memcpy(grown.at, l->t.at, (size_t)l->n * sizeof *grown.at);
            memcpy(grown.weight, l->t.weight, (size_t)l->n * sizeof *grown.weight);
        }
        l->t = grown;
    }
    l->t.at[l->n] = at;
    l->t.weight[l->n++] = (float)weight;
}

static int64_t inside(int64_t at, int64_t n)
{
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

/* Taps from both sides of x, as wide as the filter; outside ones count at the edge or not at all.
 */
static void add_filter(tap_list *l, const resize_attr *r, double x, double scale)
{
    double shrink = r->antialias && scale < 1 ? scale : 1, reach = r->mode == RESIZE_CUBIC ? 2 : 1;
    double low = floor_of(x), sum = 0;
    int64_t n = l->t.n_in, half = -(int64_t)floor_of(-reach / shrink), base = (int64_t)low;
    bool divide = r->exclude_outside || r->antialias;
    for (int64_t k = 1 - half; divide && k <= half; k++)
        if (!r->exclude_outside || (base + k >= 0 && base + k < n))
            sum += weight_at(r, (low + (double)k - x) * shrink);
    for (int64_t k = 1 - half; k <= half; k++) {
        double w = weight_at(r, (low + (double)k - x) * shrink);
        bool outside = base + k < 0 || base + k >= n;
        if (w != 0 && !(outside && r->exclude_outside))
            add_tap(l, inside(base + k, n), divide ? w / sum : w);
    }
}

taps taps_of_resize(arena *a, const resize_attr *r, int32_t axis)
{
    tap_list l = begin_list(a, r->sizes[axis], r->x.dim[axis]);
    for (int64_t i = 0; i < l.t.n_out; i++) {
        double x = source_of(r, axis, i);
        bool outside = r->coordinates == RESIZE_CROP && !(x >= 0 && x <= (double)(l.t.n_in - 1));
        l.t.begin[i] = l.n;
        if (!outside && r->mode == RESIZE_NEAREST)
            add_tap(&l, inside(nearest(r, x), l.t.n_in), 1);
        else if (!outside)
            add_filter(&l, r, x, r->scales[axis]);
    }
    l.t.begin[l.t.n_out] = l.n;
    return l.t;
}

/* `at` folded into 0 .. n-1 */
static int64_t folded(pad_mode mode, int64_t at, int64_t n)
{
    if (mode == PAD_EDGE)
        return inside(at, n);
    int64_t period = mode == PAD_WRAP ? n : n > 1 ? 2 * (n - 1) : 1;
    at %= period;
    at += at < 0 ? period : 0;
    return at < n ? at : period - at;
}

int64_t taps_pad_source(const pad_attr *p, int32_t axis, int64_t at)
{
    int64_t begin = p->pads[axis], end = p->pads[p->x.rank + axis];
    int64_t cut = begin < 0 ? -begin : 0, n = p->x.dim[axis] - cut + (end < 0 ? end : 0);
    at -= begin > 0 ? begin : 0;
    if (at >= 0 && at < n)
        return cut + at;
    return p->mode == PAD_CONSTANT ? -1 : cut + folded(p->mode, at, n);
}

taps taps_of_pad(arena *a, const pad_attr *p, int32_t axis)
{
    int64_t n = p->x.dim[axis];
    tap_list l = begin_list(a, n + p->pads[axis] + p->pads[p->x.rank + axis], n);
    for (int64_t i = 0; i < l.t.n_out; i++) {
        l.t.begin[i] = l.n;
        add_tap(&l, taps_pad_source(p, axis, i), 1);
    }
    l.t.begin[l.t.n_out] = l.n;
    return l.t;
}

taps taps_transposed(arena *a, const taps *t)
{
    int64_t n = t->begin[t->n_out];
    taps y = {.n_out = t->n_in, .n_in = t->n_out};
    y.begin = arena_alloc(a, (size_t)(y.n_out + 1) * sizeof *y.begin);
    y.at = arena_alloc(a, (size_t)n * sizeof *y.at);
    y.weight = arena_alloc(a, (size_t)n * sizeof *y.weight);
    for (int64_t k = 0; k < n; k++)
        y.begin[t->at[k] + 1]++;
    for (int64_t i = 0; i < y.n_out; i++)
        y.begin[i + 1] += y.begin[i];
    for (int64_t j = 0; j < t->n_out; j++)
        for (int64_t k = t->begin[j]; k < t->begin[j + 1]; k++) {
            int64_t to = y.begin[t->at[k]]++;
            y.at[to] = j;
            y.weight[to] = t->weight[k];
        }
    /* each begin stands now where the next one stood */
    memmove(y.begin + 1, y.begin, (size_t)y.n_out * sizeof *y.begin);
    y.begin[0] = 0;
    return y;
}
