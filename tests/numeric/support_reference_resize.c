/* Pad and Resize, element by element, as ONNX's own reference computes them. */
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

void ref_pad(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
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

void ref_resize(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
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
