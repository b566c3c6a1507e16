/* GridSample as ONNX's own reference computes it. */
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
    double n = (double)size, edge = a->align_corners ? 0 : 0.5, sum = 0;
    double x = a->align_corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
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

void ref_grid_sample(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    int32_t axes = in[0].shape.rank - 2;
    int64_t at[GRAPH_RANK], from[GRAPH_RANK], plane = 1;
    graph_shape space = {.rank = axes};
    for (int32_t d = 0; d < axes; d++)
        plane *= space.dim[d] = in[0].shape.dim[2 + d];
    for (int64_t i = 0; i < out->n; i++) {
        ref_unravel(&out->shape, i, at);
        int64_t place = at[0];
        for (int32_t d = 0; d < axes; d++)
            place = place * out->shape.dim[2 + d] + at[2 + d];
        const double *x = in[0].x + (at[0] * in[0].shape.dim[1] + at[1]) * plane;
        out->x[i] = 0;
        for (int64_t k = 0; k < plane; k++) {
            double w = x[k];
            ref_unravel(&space, k, from);
            for (int32_t d = 0; d < axes; d++)
                w *= weight_of(attr, in[1].x[place * axes + axes - 1 - d], space.dim[d], from[d]);
            out->x[i] += w;
        }
    }
}
