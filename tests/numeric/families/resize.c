/* Pad and Resize. */
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <math.h>
#include <string.h>

/* What numpy's pad makes of a place outside 0 .. n-1; -1: the constant. */
static int64_t pad_place(pad_mode mode, int64_t at, int64_t n)
{
    while (mode == PAD_REFLECT && n > 1 && (at < 0 || at >= n))
        at = at < 0 ? -at : 2 * (n - 1) - at;
    while (mode == PAD_WRAP && (at < 0 || at >= n))
        at += at < 0 ? n : -n;
    if (mode == PAD_EDGE || (mode == PAD_REFLECT && n == 1))
        at = at < 0 ? 0 : at >= n ? n - 1 : at;
    return at < 0 || at >= n ? -1 : at;
}

void ref_pad(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
             const void *attr)
{
    (void)op, (void)n_in;
    const pad_attr *a = attr;
    int32_t rank = out->shape.rank;
    int64_t at[GRAPH_RANK];
    for (int64_t i = 0; i < out->n; i++) {
        ref_unravel(&out->shape, i, at);
        bool filled = false;
        for (int32_t d = 0; d < rank; d++) {
            int64_t before = a->pads[d], behind = a->pads[rank + d];
            int64_t cut = before < 0 ? -before : 0;
            int64_t n = in[0].shape.dim[d] - cut + (behind < 0 ? behind : 0);
            at[d] = pad_place(a->mode, at[d] - (before > 0 ? before : 0), n) + cut;
            filled |= at[d] < cut;
        }
        out->x[i] = filled ? a->value : in[0].x[ref_ravel(&in[0].shape, at)];
    }
}

static double place_of(const resize_attr *r, int32_t axis, int64_t i)
{
    double n = (double)r->x.dim[axis], m = (double)r->sizes[axis], s = r->scales[axis];
    double length = r->exact[axis] ? m : n * s;
    double begin = r->roi[axis], end = r->roi[r->x.rank + axis];
    switch (r->coordinates) {
    case RESIZE_ALIGN_CORNERS:
        return length == 1 ? 0 : (double)i * (n - 1) / (length - 1);
    case RESIZE_ASYMMETRIC:
        return (double)i / s;
    case RESIZE_CROP:
        return (n - 1) *
               (length == 1 ? (begin + end) / 2 : begin + (double)i * (end - begin) / (length - 1));
    case RESIZE_HALF_PIXEL_FOR_NEAREST:
        return ((double)i + 0.5) / s;
    case RESIZE_PYTORCH_HALF_PIXEL:
        return length == 1 ? -0.5 : ((double)i + 0.5) / s - 0.5;
    case RESIZE_HALF_PIXEL_SYMMETRIC:
        return n / 2 * (1 - m / length) + ((double)i + 0.5) / s - 0.5;
    default:
        return ((double)i + 0.5) / s - 0.5;
    }
}

static double round_as(const resize_attr *r, double x)
{
    switch ((int)r->nearest) {
    case RESIZE_FLOOR:
        return floor(x);
    case RESIZE_CEIL:
        return ceil(x);
    case RESIZE_PREFER_CEIL:
        return floor(x + 0.5);
    default:
        return ceil(x - 0.5);
    }
}

static double kernel(const resize_attr *r, double x)
{
    double a = (double)r->cubic_a, d = fabs(x);
    if (r->mode == RESIZE_LINEAR)
        return d < 1 ? 1 - d : 0;
    if (d <= 1)
        return (a + 2) * pow(d, 3) - (a + 3) * pow(d, 2) + 1;
    return d < 2 ? a * pow(d, 3) - 5 * a * pow(d, 2) + 8 * a * d - 4 * a : 0;
}

/* The weight each element of the input axis has in element i of the output axis. */
static void weigh(const resize_attr *r, int32_t axis, int64_t i, double *ret)
{
    int64_t n = r->x.dim[axis];
    double x = place_of(r, axis, i), sum = 0, shrink = fmin(r->scales[axis], 1);
    memset(ret, 0, (size_t)n * sizeof *ret);
    if (r->mode == RESIZE_NEAREST) {
        ret[(int64_t)fmin(fmax(round_as(r, x), 0), (double)n - 1)] = 1;
        return;
    }
    for (int64_t k = -n - 9; k < 2 * n + 9; k++) {
        double w = kernel(r, ((double)k - x) * (r->antialias ? shrink : 1));
        if (r->exclude_outside && (k < 0 || k >= n))
            continue;
        ret[k < 0 ? 0 : k >= n ? n - 1 : k] += w;
        sum += w;
    }
    for (int64_t k = 0; k < n; k++)
        ret[k] /= sum;
}

static bool is_outside(const resize_attr *r, const int64_t *at)
{
    bool outside = false;
    for (int32_t d = 0; d < r->x.rank && r->coordinates == RESIZE_CROP; d++) {
        double x = place_of(r, d, at[d]);
        outside |= x < 0 || x > (double)(r->x.dim[d] - 1);
    }
    return outside;
}

enum { LONGEST = 512 }; /* axis of a case */

void ref_resample(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                  const void *attr)
{
    (void)op, (void)n_in;
    const resize_attr *r = attr;
    static double weight[GRAPH_RANK][LONGEST];
    int64_t at[GRAPH_RANK], from[GRAPH_RANK];
    for (int64_t i = 0; i < out->n; i++) {
        ref_unravel(&out->shape, i, at);
        out->x[i] = r->outside;
        if (is_outside(r, at))
            continue;
        for (int32_t d = 0; d < r->x.rank; d++)
            weigh(r, d, at[d], weight[d]);
        out->x[i] = 0;
        memset(from, 0, sizeof from);
        for (int64_t k = 0; k < in[0].n; k++, ref_advance(&in[0].shape, from)) {
            double w = in[0].x[k];
            for (int32_t d = 0; d < r->x.rank; d++)
                w *= weight[d][from[d]];
            out->x[i] += w;
        }
    }
}

/* --- cases --- */

#define PADS(...) .attr = ATTR(pad_attr, __VA_ARGS__)
#define SIZE(...) .attr = ATTR(resize_attr, __VA_ARGS__)

static const op_case pad_rows[] = {
    CASE(PAD, "columns", 1, IN(X(3, 5)), PADS(.pads = {0, 2, 0, 1}, .value = -1.5)),
    CASE(PAD, "rows", 1, IN(X(3, 5)), PADS(.pads = {2, 0, 1, 0})),
    CASE(PAD, "images", 1, IN(X(2, 3, 17, 9)), PADS(.pads = {0, 0, 1, 2, 0, 0, 3, 1}, .value = 4)),
    CASE(PAD, "channels", 1, IN(X(2, 3, 7, 9)), PADS(.pads = {0, 1, 0, 0, 0, 2, 0, 0})),
    CASE(PAD, "cut", 1, IN(X(4, 9)), PADS(.pads = {-1, -3, 0, -2})),
    CASE(PAD, "cut and padded", 1, IN(X(4, 9)), PADS(.pads = {-1, 3, 2, -2}, .value = 1)),
    CASE(PAD, "cut away", 1, IN(X(3, 2)), PADS(.pads = {-3, 0, 1, 0}, .value = 2)),
    CASE(PAD, "nothing", 1, IN(X(2, 3)), PADS(.value = 2)),
    CASE(PAD, "scalar", 1, IN(SCALAR), PADS(.value = 2)),
    CASE(PAD, "long", 1, IN(X(60, 300)), PADS(.pads = {3, 40, 2, 5})),
    CASE(PAD, "rows of pairs", 1, IN(X(3, 6)), PADS(.pads = {1, 0, 2, 0}, .value = 3)),
    CASE(PAD, "rows of eights", 1, IN(X(5, 24)), PADS(.pads = {2, 0, 1, 0}, .value = 3)),
    CASE(PAD, "reflect", 1, IN(X(2, 5)), PADS(.mode = PAD_REFLECT, .pads = {0, 3, 0, 4})),
    CASE(PAD, "reflect, back and forth", 1, IN(X(3, 2)),
         PADS(.mode = PAD_REFLECT, .pads = {0, 5, 4, 0})),
    CASE(PAD, "reflect one element", 1, IN(X(3, 1)),
         PADS(.mode = PAD_REFLECT, .pads = {0, 2, 0, 1})),
    CASE(PAD, "reflect images", 1, IN(X(2, 3, 8, 9)),
         PADS(.mode = PAD_REFLECT, .pads = {0, 0, 3, 2, 0, 0, 1, 4})),
    CASE(PAD, "edge", 1, IN(X(2, 3, 4)), PADS(.mode = PAD_EDGE, .pads = {1, 0, 2, 0, 1, 3})),
    CASE(PAD, "edge, cut", 1, IN(X(5, 6)), PADS(.mode = PAD_EDGE, .pads = {-2, 3, 2, -1})),
    CASE(PAD, "wrap", 1, IN(X(3, 4)), PADS(.mode = PAD_WRAP, .pads = {1, 5, 2, 6})),
    CASE(PAD, "wrap, long", 1, IN(X(70, 300)), PADS(.mode = PAD_WRAP, .pads = {9, 1, 0, 30})),
    CASE(PAD, "whole numbers", 1, IN(INTS(3, 4)), PADS(.pads = {1, 1, 0, 2}, .value = -7)),
    CASE(PAD, "int32, reflect", 1, IN(INTS32(3, 4)),
         PADS(.mode = PAD_REFLECT, .pads = {1, 1, 0, 2})),
    CASE(PAD, "bits", 1, IN(BITS(3, 4)), PADS(.pads = {1, 1, 0, 2}, .value = 1)),
};
CASES(pad);

static const op_case resample_rows[] = {
    CASE(RESIZE, "nearest, twice", 1, IN(X(2, 3, 4, 5)),
         SIZE(.scales = {0, 0, 2, 2}, .coordinates = RESIZE_ASYMMETRIC, .nearest = RESIZE_FLOOR)),
    CASE(RESIZE, "nearest, up", 1, IN(X(1, 2, 3, 4)), SIZE(.sizes = {0, 0, 7, 9})),
    CASE(RESIZE, "nearest, down", 1, IN(X(1, 2, 8, 9)), SIZE(.scales = {1, 1, 0.6, 0.5})),
    CASE(RESIZE, "nearest, ceil", 1, IN(X(1, 2, 5, 6)),
         SIZE(.sizes = {0, 0, 7, 4}, .nearest = RESIZE_CEIL, .coordinates = RESIZE_ALIGN_CORNERS)),
    CASE(RESIZE, "nearest, ties go up", 1, IN(X(1, 1, 4, 4)),
         SIZE(.sizes = {0, 0, 2, 2}, .nearest = RESIZE_PREFER_CEIL)),
    CASE(RESIZE, "nearest, ties go down", 1, IN(X(1, 1, 4, 4)), SIZE(.sizes = {0, 0, 2, 2})),
    CASE(RESIZE, "nearest, half pixel for nn", 1, IN(X(1, 1, 4, 4)),
         SIZE(.sizes = {0, 0, 7, 3}, .nearest = RESIZE_FLOOR,
              .coordinates = RESIZE_HALF_PIXEL_FOR_NEAREST)),
    CASE(RESIZE, "linear, twice", 1, IN(X(2, 3, 4, 5)),
         SIZE(.mode = RESIZE_LINEAR, .scales = {0, 0, 2, 2})),
    CASE(RESIZE, "linear, batch and channels too", 1, IN(X(2, 3, 4, 5)),
         SIZE(.mode = RESIZE_LINEAR, .sizes = {3, 2, 6, 3})),
    CASE(RESIZE, "linear, corners aligned", 1, IN(X(2, 2, 5, 4)),
         SIZE(.mode = RESIZE_LINEAR, .sizes = {0, 0, 9, 3}, .coordinates = RESIZE_ALIGN_CORNERS)),
    CASE(RESIZE, "linear, to one", 1, IN(X(1, 2, 5, 4)),
         SIZE(.mode = RESIZE_LINEAR, .sizes = {0, 0, 1, 1},
              .coordinates = RESIZE_PYTORCH_HALF_PIXEL)),
    CASE(RESIZE, "linear, down, not antialiased", 1, IN(X(1, 2, 9, 8)),
         SIZE(.mode = RESIZE_LINEAR, .scales = {1, 1, 0.4, 0.6})),
    CASE(RESIZE, "linear, symmetric", 1, IN(X(1, 1, 6, 5)),
         SIZE(.mode = RESIZE_LINEAR, .scales = {1, 1, 2.3, 0.6},
              .coordinates = RESIZE_HALF_PIXEL_SYMMETRIC)),
    CASE(RESIZE, "linear, antialiased", 1, IN(X(1, 2, 9, 11)),
         SIZE(.mode = RESIZE_LINEAR, .sizes = {0, 0, 4, 3}, .antialias = true)),
    CASE(RESIZE, "linear, volumes", 1, IN(X(1, 2, 3, 4, 3)),
         SIZE(.mode = RESIZE_LINEAR, .sizes = {0, 0, 5, 2, 6})),
    CASE(RESIZE, "linear, a row", 1, IN(X(2, 3, 7)),
         SIZE(.mode = RESIZE_LINEAR, .scales = {0, 0, 1.7})),
    CASE(RESIZE, "linear, large", 1, IN(X(1, 3, 20, 21)),
         SIZE(.mode = RESIZE_LINEAR, .sizes = {0, 0, 41, 33})),
    CASE(RESIZE, "cubic", 1, IN(X(1, 2, 5, 6)),
         SIZE(.mode = RESIZE_CUBIC, .sizes = {0, 0, 9, 4}, .cubic_a = -0.75f)),
    CASE(RESIZE, "cubic, another filter, inside only", 1, IN(X(1, 2, 5, 6)),
         SIZE(.mode = RESIZE_CUBIC, .scales = {0, 0, 1.8, 0.7}, .cubic_a = -0.5f,
              .exclude_outside = true)),
    CASE(RESIZE, "cubic, antialiased", 1, IN(X(1, 1, 12, 9)),
         SIZE(.mode = RESIZE_CUBIC, .scales = {0, 0, 0.4, 0.6}, .cubic_a = -0.75f, .antialias = true,
              .coordinates = RESIZE_ASYMMETRIC)),
    CASE(RESIZE, "a region", 1, IN(X(1, 1, 6, 5)),
         SIZE(.mode = RESIZE_LINEAR, .sizes = {1, 1, 4, 3}, .coordinates = RESIZE_CROP,
              .roi = {0, 0, 0.2, 0.3, 1, 1, 0.8, 0.9}, .outside = 10)),
    CASE(RESIZE, "a region beyond", 1, IN(X(1, 2, 6, 5)),
         SIZE(.mode = RESIZE_LINEAR, .sizes = {1, 2, 4, 3}, .coordinates = RESIZE_CROP,
              .roi = {0, 0, -0.4, 0.3, 1, 1, 0.8, 1.9}, .outside = 10)),
    CASE(RESIZE, "not larger", 1, IN(X(1, 1, 4, 7)),
         SIZE(.sizes = {0, 0, 9, 9}, .policy = RESIZE_NOT_LARGER)),
    CASE(RESIZE, "not smaller", 1, IN(X(1, 1, 4, 7)),
         SIZE(.mode = RESIZE_LINEAR, .sizes = {0, 0, 9, 9}, .policy = RESIZE_NOT_SMALLER)),
    CASE(RESIZE, "nothing", 1, IN(X(2, 3)), SIZE(.mode = RESIZE_LINEAR)),
};
CASES(resample);
