/* GridSample and RoiAlign. */
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <math.h>

static double fold_back(double x, double low, double high)
{
    while (high > low && (x < low || x > high))
        x = x < low ? 2 * low - x : 2 * high - x;
    return x;
}

/* The weight that element i of an axis has at coordinate g, counting what padding makes of others.
 */
static double weight_of(const grid_attr *a, double g, int64_t size, int64_t i)
{
    double n = (double)size, edge = a->align_corners || a->pixels ? 0 : 0.5, sum = 0;
    double x = a->pixels          ? g
               : a->align_corners ? (g + 1) / 2 * (n - 1)
                                  : ((g + 1) * n - 1) / 2;
    if (a->mode == GRID_NEAREST)
        x = rint(x);
    if (a->padding == GRID_REFLECTION)
        x = fold_back(x, -edge, n - 1 + edge);
    if (a->padding == GRID_BORDER && (x < -edge || x > n - 1 + edge))
        x = fmin(fmax(x, 0), n - 1);
    for (int64_t k = (int64_t)floor(x) - 3; k <= (int64_t)floor(x) + 3; k++) {
        double d = fabs(x - (double)k), w, at = (double)k;
        if (a->mode == GRID_NEAREST)
            w = d == 0;
        else if (a->mode == GRID_LINEAR)
            w = d < 1 ? 1 - d : 0;
        else
            w = d <= 1  ? 1.25 * d * d * d - 2.25 * d * d + 1
                : d < 2 ? -0.75 * (d * d * d - 5 * d * d + 8 * d - 4)
                        : 0;
        if (a->padding == GRID_REFLECTION)
            at = trunc(fold_back(at, -edge, n - 1 + edge));
        if (a->padding != GRID_ZEROS)
            at = fmin(fmax(at, 0), n - 1);
        sum += at == (double)i ? w : 0;
    }
    return sum;
}

void ref_grid_sample(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                     const void *attr)
{
    (void)op, (void)n_in;
    int32_t axes = in[0].shape.rank - 2;
    int64_t at[GRAPH_RANK], plane = 1;
    graph_shape space = {.rank = axes};
    for (int32_t d = 0; d < axes; d++)
        plane *= space.dim[d] = in[0].shape.dim[2 + d];
    for (int64_t i = 0; i < out->n; i++) {
        ref_unravel(&out->shape, i, at);
        int64_t position = at[0];
        for (int32_t d = 0; d < axes; d++)
            position = position * out->shape.dim[2 + d] + at[2 + d];
        const double *x = in[0].x + (at[0] * in[0].shape.dim[1] + at[1]) * plane;
        out->x[i] = 0;
        int64_t from[GRAPH_RANK] = {0};
        for (int64_t k = 0; k < plane; k++, ref_advance(&space, from)) {
            double w = x[k];
            for (int32_t d = 0; d < axes; d++)
                w *=
                    weight_of(attr, in[1].x[position * axes + axes - 1 - d], space.dim[d], from[d]);
            out->x[i] += w;
        }
    }
}

/* The pixels k and k + 1 around v, and how far v is behind the first; false: outside. */
static bool around(double v, int64_t size, int64_t *ret_k, double *ret_rest)
{
    *ret_k = 0;
    *ret_rest = 0;
    if (!(v >= -1 && v <= (double)size))
        return false;
    v = fmax(v, 0);
    *ret_k = (int64_t)v < size - 1 ? (int64_t)v : size - 1;
    *ret_rest = *ret_k < size - 1 ? v - (double)*ret_k : 0;
    return true;
}

/* What corner k of a sample at (y, x) gives. */
static double corner_of(const double *plane, const graph_shape *s, double y, double x, int k)
{
    int64_t row, column;
    double down, right;
    bool inside = around(y, s->dim[2], &row, &down);
    inside = around(x, s->dim[3], &column, &right) && inside;
    if (!inside)
        return 0;
    double weight = (k / 2 ? down : 1 - down) * (k % 2 ? right : 1 - right);
    row += k / 2 && row < s->dim[2] - 1;
    column += k % 2 && column < s->dim[3] - 1;
    return weight * plane[row * s->dim[3] + column];
}

static void bin_along(const roi_attr *a, double from, double to, int64_t n, double *ret_begin,
                      double *ret_length, int64_t *ret_samples)
{
    double shift = a->half_pixel ? 0.5 : 0, scale = (double)a->scale;
    *ret_begin = from * scale - shift;
    *ret_length = to * scale - shift - *ret_begin;
    if (!a->half_pixel)
        *ret_length = fmax(*ret_length, 1);
    *ret_length /= (double)n;
    *ret_samples = a->ratio ? a->ratio : (int64_t)fmax(ceil(*ret_length), 0);
}

void ref_roi_align(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                   const void *attr)
{
    (void)op, (void)n_in;
    const roi_attr *a = attr;
    const graph_shape *s = &in[0].shape;
    int64_t at[GRAPH_RANK];
    for (int64_t i = 0; i < out->n; i++) {
        double top, left, height, width, sum = 0, most = -INFINITY;
        int64_t down, across;
        ref_unravel(&out->shape, i, at);
        const double *box = in[1].x + 4 * at[0];
        const double *plane = in[0].x + ((int64_t)in[2].x[at[0]] * s->dim[1] + at[1]) * s->dim[2] * s->dim[3];
        bin_along(a, box[0], box[2], a->columns, &left, &width, &across);
        bin_along(a, box[1], box[3], a->rows, &top, &height, &down);
        for (int64_t k = 0; k < down * across * 4; k++) {
            double y = top + height * ((double)at[2] + ((double)(k / 4 / across) + 0.5) / (double)down);
            double x = left + width * ((double)at[3] + ((double)(k / 4 % across) + 0.5) / (double)across);
            double term = corner_of(plane, s, y, x, (int)(k % 4));
            sum += term;
            most = fmax(most, term);
        }
        out->x[i] = a->largest ? (down > 0 && across > 0 ? most : 0) : sum / fmax((double)(down * across), 1);
    }
}

/* --- cases --- */

#define GRID(...) .attr = ATTR(grid_attr, __VA_ARGS__)
#define IMAGES(...)                                                                                \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_BIT, DT_I64                                                       \
    }

#define ROI(...) .attr = ATTR(roi_attr, __VA_ARGS__)

static const op_case grid_sample_rows[] = {
    CASE(GRID_SAMPLE, "linear", 2, IN(X(2, 3, 4, 5), X(2, 6, 3, 2))),
    CASE(GRID_SAMPLE, "linear, corners aligned", 2, IN(X(2, 3, 4, 5), X(2, 6, 7, 2)),
         GRID(.align_corners = true)),
    CASE(GRID_SAMPLE, "linear, border", 2, IN(X(1, 2, 4, 5), X(1, 6, 7, 2)),
         GRID(.padding = GRID_BORDER)),
    CASE(GRID_SAMPLE, "linear, reflected", 2, IN(X(1, 2, 4, 3), X(1, 6, 7, 2)),
         GRID(.padding = GRID_REFLECTION)),
    CASE(GRID_SAMPLE, "linear, reflected at the corners", 2, IN(X(1, 2, 4, 3), X(1, 6, 7, 2)),
         GRID(.padding = GRID_REFLECTION, .align_corners = true)),
    CASE(GRID_SAMPLE, "nearest", 2, IN(X(2, 2, 4, 5), X(2, 6, 7, 2)), GRID(.mode = GRID_NEAREST)),
    CASE(GRID_SAMPLE, "nearest, reflected", 2, IN(X(2, 2, 4, 5), X(2, 6, 7, 2)),
         GRID(.mode = GRID_NEAREST, .padding = GRID_REFLECTION)),
    CASE(GRID_SAMPLE, "cubic", 2, IN(X(1, 2, 6, 5), X(1, 5, 5, 2)), GRID(.mode = GRID_CUBIC)),
    CASE(GRID_SAMPLE, "cubic, border", 2, IN(X(1, 2, 6, 5), X(1, 5, 5, 2)),
         GRID(.mode = GRID_CUBIC, .padding = GRID_BORDER, .align_corners = true)),
    CASE(GRID_SAMPLE, "cubic, reflected", 2, IN(X(1, 2, 6, 5), X(1, 5, 5, 2)),
         GRID(.mode = GRID_CUBIC, .padding = GRID_REFLECTION)),
    CASE(GRID_SAMPLE, "volumes", 2, IN(X(2, 2, 3, 4, 5), X(2, 2, 3, 4, 3))),
    CASE(GRID_SAMPLE, "volumes, cubic", 2, IN(X(1, 2, 3, 4, 5), X(1, 2, 3, 2, 3)),
         GRID(.mode = GRID_CUBIC, .padding = GRID_REFLECTION)),
    CASE(GRID_SAMPLE, "by pixels", 2, IN(X(2, 3, 4, 5), X(2, 6, 3, 2)), GRID(.pixels = true)),
    CASE(GRID_SAMPLE, "by pixels, reflected", 2, IN(X(1, 2, 4, 3), X(1, 6, 7, 2)),
         GRID(.pixels = true, .padding = GRID_REFLECTION)),
    CASE(GRID_SAMPLE, "many positions", 2, IN(X(2, 5, 9, 8), X(2, 13, 17, 2))),
};
CASES(grid_sample);

static const op_case roi_align_rows[] = {
    CASE(ROI_ALIGN, "one a pixel", 3, IN(X(2, 3, 7, 9), POSITIVE(5, 4), IMAGES(5)),
         ROI(.rows = 2, .columns = 3, .scale = 4)),
    CASE(ROI_ALIGN, "two samples, half pixels", 3, IN(X(2, 3, 7, 9), POSITIVE(6, 4), IMAGES(6)),
         ROI(.rows = 3, .columns = 2, .ratio = 2, .scale = 5, .half_pixel = true)),
    CASE(ROI_ALIGN, "over the edge", 3, IN(X(2, 1, 4, 3), X(9, 4), IMAGES(9)),
         ROI(.rows = 2, .columns = 2, .scale = 4, .half_pixel = true)),
    CASE(ROI_ALIGN, "largest", 3, IN(X(2, 2, 6, 5), POSITIVE(4, 4), IMAGES(4)),
         ROI(.rows = 2, .columns = 2, .ratio = 2, .scale = 2.5f, .largest = true)),
    CASE(ROI_ALIGN, "a region each", 3, IN(X(2, 3, 5, 6), POSITIVE(2, 4), IMAGES(2)),
         ROI(.rows = 1, .columns = 1, .scale = 3)),
    CASE(ROI_ALIGN, "many planes", 3, IN(X(2, 130, 5, 4), POSITIVE(3, 4), IMAGES(3)),
         ROI(.rows = 1, .columns = 2, .scale = 2)),
};
CASES(roi_align);
