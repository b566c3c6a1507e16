/* Convolution and pooling. */
#include "common/base/alloc.h"
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <math.h>
#include <stdlib.h>

/* A sliding window of up to three spatial axes; absent ones are of size 1. */
typedef struct window {
    int64_t in[SPATIAL], out[SPATIAL], kernel[SPATIAL];
    int64_t stride[SPATIAL], dilation[SPATIAL], before[SPATIAL], after[SPATIAL];
    int64_t n_in, n_out, n_kernel;
} window;

static window window_of(const graph_shape *x, const graph_shape *y, const int64_t *kernel,
                        const int64_t *strides, const int64_t *pads, const int64_t *dilations)
{
    window w = {.n_in = 1, .n_out = 1, .n_kernel = 1};
    int32_t rank = x->rank - 2;
    for (int32_t d = 0; d < SPATIAL; d++) {
        bool has = d < rank;
        w.in[d] = has ? x->dim[2 + d] : 1;
        w.out[d] = has ? y->dim[2 + d] : 1;
        w.kernel[d] = has ? kernel[d] : 1;
        w.stride[d] = has && strides[d] ? strides[d] : 1;
        w.dilation[d] = has && dilations[d] ? dilations[d] : 1;
        w.before[d] = has ? pads[d] : 0;
        w.after[d] = has ? pads[rank + d] : 0;
        w.n_in *= w.in[d];
        w.n_out *= w.out[d];
        w.n_kernel *= w.kernel[d];
    }
    return w;
}

typedef enum where { INSIDE, PADDING, BEYOND } where;

/* Where tap k of the window at output o falls; *ret_at is the input element when INSIDE. */
static where tap(const window *w, int64_t o, int64_t k, int64_t *ret_at)
{
    int64_t at[SPATIAL];
    where found = INSIDE;
    for (int32_t d = SPATIAL - 1; d >= 0; d--) {
        int64_t out = o % w->out[d], kernel = k % w->kernel[d];
        o /= w->out[d];
        k /= w->kernel[d];
        at[d] = out * w->stride[d] + kernel * w->dilation[d] - w->before[d];
        if (at[d] >= w->in[d] + w->after[d])
            found = BEYOND;
        else if ((at[d] < 0 || at[d] >= w->in[d]) && found == INSIDE)
            found = PADDING;
    }
    *ret_at = (at[0] * w->in[1] + at[1]) * w->in[2] + at[2];
    return found;
}

/* One output of a map: at[k] is where the kernel's element k finds its number in a channel of x, or
 * below 0. */
static double conv_at(const window *w, const int64_t *at, const double *x, const double *weights,
                      int64_t depth, double bias)
{
    double sum = bias;
    for (int64_t c = 0; c < depth; c++)
        for (int64_t k = 0; k < w->n_kernel; k++)
            if (at[k] >= 0)
                sum += x[c * w->n_in + at[k]] * weights[c * w->n_kernel + k];
    return sum;
}

void ref_conv(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
              const void *attr)
{
    (void)op;
    const conv_attr *a = attr;
    window w = window_of(&in[0].shape, &out->shape, &in[1].shape.dim[2], a->strides, a->pads,
                         a->dilations);
    int64_t group = a->group ? a->group : 1;
    int64_t batch = in[0].shape.dim[0], channels = in[0].shape.dim[1];
    int64_t maps = in[1].shape.dim[0], depth = in[1].shape.dim[1];
    int64_t *at = xcalloc((size_t)w.n_kernel, sizeof *at);
    for (int64_t o = 0; o < w.n_out; o++) {
        for (int64_t k = 0, found; k < w.n_kernel; k++)
            at[k] = tap(&w, o, k, &found) == INSIDE ? found : -1;
        for (int64_t nm = 0; nm < batch * maps; nm++) {
            int64_t n = nm / maps, m = nm % maps, first = m / (maps / group) * depth;
            out->x[nm * w.n_out + o] =
                conv_at(&w, at, in[0].x + (n * channels + first) * w.n_in,
                        in[1].x + m * depth * w.n_kernel, depth, n_in > 2 && in[2].x ? in[2].x[m] : 0);
        }
    }
    free(at);
}

static window pool_window(const ref_tensor *in, const ref_tensor *out, const pool_attr *a)
{
    return window_of(&in->shape, &out->shape, a->kernel, a->strides, a->pads, a->dilations);
}

/* Element `at` of a plane when its first axis runs fastest. */
static int64_t by_columns(const window *w, int64_t at)
{
    int64_t i = at / (w->in[1] * w->in[2]), j = at / w->in[2] % w->in[1], k = at % w->in[2];
    return (k * w->in[1] + j) * w->in[0] + i;
}

static void max_pool(const ref_tensor *in, const ref_tensor *out, const void *attr)
{
    const pool_attr *a = attr;
    window w = pool_window(in, out, attr);
    for (int64_t plane = 0; plane < in->n / w.n_in; plane++) {
        for (int64_t o = 0; o < w.n_out; o++) {
            double most = -INFINITY;
            int64_t best = 0;
            for (int64_t k = 0, at; k < w.n_kernel; k++)
                if (tap(&w, o, k, &at) == INSIDE && in->x[plane * w.n_in + at] > most) {
                    most = in->x[plane * w.n_in + at];
                    best = at;
                }
            out->x[plane * w.n_out + o] = most;
            if (a->indices)
                out[2].x[plane * w.n_out + o] =
                    (double)(plane * w.n_in + (a->column_major ? by_columns(&w, best) : best));
        }
    }
}

/* Padding counts if asked for; what ceil_mode adds beyond the padding never does. */
static void average_pool(const ref_tensor *in, const ref_tensor *out, const void *attr)
{
    const pool_attr *a = attr;
    window w = pool_window(in, out, a);
    for (int64_t plane = 0; plane < in->n / w.n_in; plane++) {
        for (int64_t o = 0; o < w.n_out; o++) {
            double sum = 0, count = 0;
            for (int64_t k = 0, at; k < w.n_kernel; k++) {
                where found = tap(&w, o, k, &at);
                sum += found == INSIDE ? in->x[plane * w.n_in + at] : 0;
                count += found == INSIDE || (found == PADDING && a->count_include_pad);
            }
            out->x[plane * w.n_out + o] = sum / count;
        }
    }
}

void ref_lp_pool(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                 const void *attr)
{
    (void)op, (void)n_in;
    const pool_attr *a = attr;
    double p = a->p ? (double)a->p : 2;
    window w = pool_window(in, out, a);
    for (int64_t i = 0; i < out->n; i++) {
        double sum = 0;
        for (int64_t k = 0, at; k < w.n_kernel; k++)
            if (tap(&w, i % w.n_out, k, &at) == INSIDE)
                sum += pow(fabs(in->x[i / w.n_out * w.n_in + at]), p);
        out->x[i] = pow(sum, 1 / p);
    }
}

static void global_average_pool(const ref_tensor *in, const ref_tensor *out)
{
    int64_t plane = in->n / out->n;
    for (int64_t i = 0; i < out->n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < plane; k++)
            sum += in->x[i * plane + k];
        out->x[i] = sum / (double)plane;
    }
}

void ref_pool(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
              const void *attr)
{
    (void)n_in;
    if (op == OP_MAX_POOL)
        max_pool(in, out, attr);
    else if (op == OP_AVERAGE_POOL)
        average_pool(in, out, attr);
    else
        global_average_pool(in, out);
}

/* Every element of x adds its multiple of the kernel to y, where that lies in y. */
void ref_conv_transpose(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                        const void *attr)
{
    (void)op;
    const conv_attr *a = attr;
    const graph_shape *x = &in[0].shape, *w = &in[1].shape, *y = &out->shape;
    int64_t group = a->group ? a->group : 1, planes = out->n / (y->dim[0] * y->dim[1]);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = n_in > 2 && in[2].x ? in[2].x[i / planes % y->dim[1]] : 0;
    int64_t at[GRAPH_RANK] = {0}, taps = in[1].n / w->dim[0];
    for (int64_t i = 0; i < in[0].n; i++, ref_advance(x, at)) {
        int64_t tap[GRAPH_RANK] = {at[1]}, to[GRAPH_RANK];
        for (int64_t k = at[1] * taps; k < (at[1] + 1) * taps; k++, ref_advance(w, tap)) {
            to[0] = at[0];
            to[1] = at[1] / (x->dim[1] / group) * w->dim[1] + tap[1];
            bool inside = true;
            for (int32_t d = 2; d < x->rank; d++) {
                int64_t stride = a->strides[d - 2] ? a->strides[d - 2] : 1;
                int64_t dilation = a->dilations[d - 2] ? a->dilations[d - 2] : 1;
                to[d] = at[d] * stride + tap[d] * dilation - a->pads[d - 2];
                inside = inside && to[d] >= 0 && to[d] < y->dim[d];
            }
            if (inside)
                out->x[ref_ravel(y, to)] += in[0].x[i] * in[1].x[k];
        }
    }
}

/* --- cases --- */

static const op_case conv_rows[] = {
    CASE(CONV, "3x3", 3, IN(X(2, 3, 8, 8), X(16, 3, 3, 3), X(16)), CONV_(.pads = {1, 1, 1, 1})),
    CASE(CONV, "defaults, no bias", 2, IN(X(2, 3, 6, 7), X(4, 3, 3, 2))),
    CASE(CONV, "batch 1, one channel", 3, IN(X(1, 1, 12, 12), X(8, 1, 5, 5), X(8)),
         CONV_(.strides = {1, 1})),
    CASE(CONV, "pads on one side, strides", 3, IN(X(2, 3, 9, 8), X(5, 3, 3, 3), X(5)),
         CONV_(.strides = {2, 1}, .pads = {0, 1, 2, 1})),
    CASE(CONV, "dilations", 3, IN(X(1, 2, 9, 10), X(3, 2, 3, 3), X(3)),
         CONV_(.dilations = {2, 3}, .pads = {1, 0, 1, 2})),
    CASE(CONV, "two groups", 3, IN(X(2, 4, 7, 6), X(6, 2, 3, 3), X(6)),
         CONV_(.group = 2, .pads = {1, 1, 1, 1})),
    CASE(CONV, "depthwise", 3, IN(X(2, 8, 6, 5), X(8, 1, 3, 3), X(8)),
         CONV_(.group = 8, .pads = {1, 1, 1, 1})),
    CASE(CONV, "depthwise, 7x7, whole vectors", 3, IN(X(3, 32, 9, 11), X(32, 1, 7, 7), X(32)),
         CONV_(.group = 32, .pads = {3, 3, 3, 3})),
    CASE(CONV, "depthwise, 5x5, strides, odd channels", 2, IN(X(2, 19, 24, 23), X(19, 1, 5, 5)),
         CONV_(.group = 19, .pads = {2, 2, 2, 2}, .strides = {2, 2})),
    CASE(CONV, "depthwise, dilations, pads on one side", 3, IN(X(2, 16, 11, 12), X(16, 1, 5, 3), X(16)),
         CONV_(.group = 16, .dilations = {2, 3}, .pads = {4, 0, 1, 5})),
    CASE(CONV, "depthwise, one axis", 3, IN(X(2, 16, 13), X(16, 1, 9), X(16)),
         CONV_(.group = 16, .pads = {4, 4})),
    CASE(CONV, "1x1, odd channels", 3, IN(X(2, 17, 5, 5), X(33, 17, 1, 1), X(33))),
    CASE(CONV, "1x1 without a bias", 2, IN(X(3, 12, 3, 5), X(7, 12, 1, 1))),
    CASE(CONV, "1x1, stride 2", 2, IN(X(2, 16, 7, 7), X(32, 16, 1, 1)), CONV_(.strides = {2, 2})),
    CASE(CONV, "whole vectors of channels", 3, IN(X(2, 32, 5, 5), X(48, 32, 3, 3), X(48)),
         CONV_(.pads = {1, 1, 1, 1})),
    CASE(CONV, "the kernel is the image", 3, IN(X(3, 4, 4, 4), X(10, 4, 4, 4), X(10))),
    CASE(CONV, "one spatial axis", 3, IN(X(2, 3, 11), X(4, 3, 3), X(4)),
         CONV_(.strides = {2}, .pads = {1, 0})),
    CASE(CONV, "three spatial axes", 3, IN(X(1, 2, 4, 5, 6), X(3, 2, 2, 3, 3), X(3)),
         CONV_(.pads = {0, 1, 1, 1, 1, 1}, .strides = {1, 2, 1})),
    CASE(CONV, "same size, odd pad behind", 3, IN(X(2, 3, 7, 8), X(5, 3, 2, 3), X(5)),
         CONV_(.strides = {2, 2}, .auto_pad = PAD_SAME_UPPER)),
    CASE(CONV, "same size, odd pad in front, dilations", 2, IN(X(1, 3, 9, 8), X(4, 3, 2, 2)),
         CONV_(.dilations = {3, 1}, .auto_pad = PAD_SAME_LOWER)),
    CASE(CONV, "one axis, groups, dilations", 3, IN(X(2, 6, 13), X(4, 3, 3), X(4)),
         CONV_(.group = 2, .dilations = {2}, .pads = {2, 1})),
    CASE(CONV, "one axis, whole vectors", 3, IN(X(2, 32, 9), X(16, 32, 3), X(16)),
         CONV_(.pads = {1, 1})),
    CASE(CONV, "video, over space", 2, IN(X(1, 3, 4, 9, 9), X(18, 3, 1, 7, 7)),
         CONV_(.strides = {1, 2, 2}, .pads = {0, 3, 3, 0, 3, 3})),
    CASE(CONV, "video, over time", 2, IN(X(2, 18, 5, 4, 4), X(16, 18, 3, 1, 1)),
         CONV_(.strides = {2, 1, 1}, .pads = {1, 0, 0, 1, 0, 0})),
    CASE(CONV, "video, 1x1x1, stride 2", 2, IN(X(2, 16, 4, 5, 4), X(32, 16, 1, 1, 1)),
         CONV_(.strides = {2, 2, 2})),
    CASE(CONV, "video, groups", 3, IN(X(1, 4, 3, 5, 5), X(8, 2, 3, 3, 3), X(8)),
         CONV_(.group = 2, .auto_pad = PAD_SAME_UPPER)),
    CASE(CONV, "video, depthwise, dilations", 3, IN(X(1, 16, 5, 5, 6), X(16, 1, 3, 2, 3), X(16)),
         CONV_(.group = 16, .dilations = {1, 2, 2}, .pads = {1, 0, 2, 1, 2, 2})),
};
CASES(conv);

static const op_case conv_transpose_rows[] = {
    CASE(CONV_TRANSPOSE, "1x1 without a bias", 2, IN(X(2, 8, 3, 3), X(8, 5, 1, 1))),
    CASE(CONV_TRANSPOSE, "plain", 3, IN(X(2, 3, 4, 5), X(3, 6, 3, 2), X(6))),
    CASE(CONV_TRANSPOSE, "doubling", 3, IN(X(2, 16, 4, 3), X(16, 8, 2, 2), X(8)),
         CONV_(.strides = {2, 2})),
    CASE(CONV_TRANSPOSE, "pads, output padding, odd channels", 3,
         IN(X(1, 17, 4, 5), X(17, 19, 3, 3), X(19)),
         CONV_(.strides = {2, 3}, .pads = {1, 0, 1, 2}, .output_padding = {1, 2})),
    CASE(CONV_TRANSPOSE, "groups", 3, IN(X(2, 4, 5, 4), X(4, 3, 3, 3), X(6)),
         CONV_(.group = 2, .pads = {1, 1, 1, 1})),
    CASE(CONV_TRANSPOSE, "dilations, no bias", 2, IN(X(1, 2, 4, 4), X(2, 3, 2, 3)),
         CONV_(.dilations = {3, 2}, .pads = {1, 1, 0, 1})),
    CASE(CONV_TRANSPOSE, "same size times the stride", 2, IN(X(1, 2, 3, 4), X(2, 3, 3, 3)),
         CONV_(.strides = {2, 2}, .auto_pad = PAD_SAME_UPPER)),
    CASE(CONV_TRANSPOSE, "output shape", 3, IN(X(1, 2, 3, 3), X(2, 3, 3, 3), X(3)),
         CONV_(.strides = {3, 2}, .output_shape = {10, 6})),
    CASE(CONV_TRANSPOSE, "one axis", 3, IN(X(2, 3, 7), X(3, 4, 4), X(4)),
         CONV_(.strides = {2}, .pads = {1, 1})),
    CASE(CONV_TRANSPOSE, "three axes", 3, IN(X(1, 4, 3, 3, 2), X(4, 5, 2, 3, 2), X(5)),
         CONV_(.strides = {1, 2, 2}, .pads = {0, 1, 0, 0, 1, 0})),
};
CASES(conv_transpose);

static const op_case pool_rows[] = {
    CASE(MAX_POOL, "2x2", 1, IN(DISTINCT(2, 3, 8, 8)), POOL(.kernel = {2, 2}, .strides = {2, 2})),
    CASE(MAX_POOL, "overlap and pads", 1, IN(DISTINCT(2, 17, 7, 7)),
         POOL(.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1})),
    CASE(MAX_POOL, "stride 1", 1, IN(DISTINCT(1, 2, 6, 5)), POOL(.kernel = {3, 2})),
    CASE(MAX_POOL, "ceil_mode", 1, IN(DISTINCT(1, 16, 6, 8)),
         POOL(.kernel = {3, 3}, .strides = {2, 2}, .ceil_mode = true)),
    CASE(MAX_POOL, "pads on one side", 1, IN(DISTINCT(2, 3, 6, 6)),
         POOL(.kernel = {3, 3}, .strides = {2, 2}, .pads = {0, 0, 1, 1})),
    CASE(MAX_POOL, "dilations", 1, IN(DISTINCT(1, 3, 9, 9)),
         POOL(.kernel = {2, 3}, .dilations = {3, 2}, .strides = {1, 2})),
    CASE(MAX_POOL, "one spatial axis", 1, IN(DISTINCT(2, 3, 11)),
         POOL(.kernel = {3}, .strides = {2}, .pads = {1, 1})),
    CASE(MAX_POOL, "three spatial axes", 1, IN(DISTINCT(1, 2, 4, 6, 4)),
         POOL(.kernel = {2, 2, 2}, .strides = {2, 2, 2})),
    CASE(AVERAGE_POOL, "2x2", 1, IN(X(2, 3, 8, 8)), POOL(.kernel = {2, 2}, .strides = {2, 2})),
    CASE(AVERAGE_POOL, "pads not counted", 1, IN(X(2, 17, 7, 7)),
         POOL(.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1})),
    CASE(
        AVERAGE_POOL, "pads counted", 1, IN(X(2, 17, 7, 7)),
        POOL(.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}, .count_include_pad = true)),
    CASE(AVERAGE_POOL, "pads on one side", 1, IN(X(2, 3, 6, 6)),
         POOL(.kernel = {3, 3}, .strides = {2, 2}, .pads = {0, 0, 1, 1})),
    CASE(AVERAGE_POOL, "ceil_mode", 1, IN(X(1, 4, 6, 8)),
         POOL(.kernel = {3, 3}, .strides = {2, 2}, .ceil_mode = true)),
    CASE(AVERAGE_POOL, "ceil_mode, pads counted", 1, IN(X(1, 4, 6, 8)),
         POOL(.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}, .ceil_mode = true,
              .count_include_pad = true)),
    CASE(AVERAGE_POOL, "ceil_mode without pads, counted", 1, IN(X(2, 3, 5)),
         POOL(.kernel = {2}, .strides = {2}, .ceil_mode = true, .count_include_pad = true)),
    CASE(AVERAGE_POOL, "one spatial axis", 1, IN(X(2, 3, 11)),
         POOL(.kernel = {3}, .strides = {2}, .pads = {1, 1})),
    CASE(AVERAGE_POOL, "three spatial axes", 1, IN(X(1, 2, 4, 6, 4)),
         POOL(.kernel = {2, 2, 2}, .strides = {2, 2, 2})),
    CASE(MAX_POOL, "same size, the odd pad in front", 1, IN(DISTINCT(1, 3, 7, 6)),
         POOL(.kernel = {2, 2}, .strides = {2, 1}, .auto_pad = PAD_SAME_LOWER)),
    CASE(MAX_POOL, "indices", 1, IN(DISTINCT(2, 3, 7, 6)),
         POOL(.kernel = {3, 2}, .strides = {2, 1}, .pads = {1, 0, 1, 1}, .indices = true)),
    CASE(MAX_POOL, "indices by columns", 1, IN(DISTINCT(2, 17, 5, 6)),
         POOL(.kernel = {2, 3}, .dilations = {2, 1}, .indices = true, .column_major = true)),
    CASE(MAX_POOL, "indices of three axes", 1, IN(DISTINCT(1, 2, 4, 5, 3)),
         POOL(.kernel = {2, 2, 2}, .strides = {2, 2, 1}, .ceil_mode = true, .indices = true)),
    CASE(MAX_POOL, "whole planes", 1, IN(DISTINCT(2, 5, 4, 3)), POOL(.whole_plane = true)),
    CASE(MAX_POOL, "whole videos", 1, IN(DISTINCT(2, 17, 3, 4, 3)), POOL(.whole_plane = true)),
    CASE(AVERAGE_POOL, "same size", 1, IN(X(2, 17, 7, 6)),
         POOL(.kernel = {3, 2}, .strides = {2, 2}, .auto_pad = PAD_SAME_UPPER)),
    CASE(AVERAGE_POOL, "dilations of a window of one place", 1, IN(X(2, 3, 4, 5)),
         POOL(.kernel = {2, 1}, .dilations = {1, 2}, .strides = {1, 2})),
    CASE(AVERAGE_POOL, "dilations, pads counted", 1, IN(X(1, 3, 9, 8)),
         POOL(.kernel = {2, 3}, .dilations = {3, 2}, .pads = {1, 1, 1, 1},
              .count_include_pad = true)),
    CASE(AVERAGE_POOL, "videos with pads, odd channels", 1, IN(X(2, 19, 5, 4, 7)),
         POOL(.kernel = {3, 2, 3}, .strides = {2, 1, 2}, .pads = {1, 0, 1, 1, 1, 0})),
    CASE(GLOBAL_AVERAGE_POOL, "2 axes", 1, IN(X(2, 5, 4, 3))),
    CASE(GLOBAL_AVERAGE_POOL, "7x7", 1, IN(X(1, 32, 7, 7))),
    CASE(GLOBAL_AVERAGE_POOL, "1 axis", 1, IN(X(2, 3, 5))),
    CASE(GLOBAL_AVERAGE_POOL, "3 axes", 1, IN(X(2, 3, 2, 3, 4))),
};
CASES(pool);

static const op_case lp_pool_rows[] = {
    CASE(LP_POOL, "2x2", 1, IN(OFF_ZERO(2, 3, 8, 8)), POOL(.kernel = {2, 2}, .strides = {2, 2})),
    CASE(LP_POOL, "p 1", 1, IN(OFF_ZERO(2, 17, 7, 7)),
         POOL(.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}, .p = 1)),
    CASE(LP_POOL, "p 3, pads on one side", 1, IN(OFF_ZERO(1, 2, 6, 5)),
         POOL(.kernel = {3, 2}, .pads = {0, 1, 2, 0}, .p = 3)),
    CASE(LP_POOL, "one axis, dilations", 1, IN(OFF_ZERO(2, 3, 11)),
         POOL(.kernel = {3}, .strides = {2}, .dilations = {2}, .auto_pad = PAD_VALID)),
    CASE(LP_POOL, "three axes", 1, IN(OFF_ZERO(1, 2, 4, 5, 4)),
         POOL(.kernel = {2, 3, 2}, .strides = {2, 1, 2}, .auto_pad = PAD_SAME_UPPER)),
    CASE(LP_POOL, "whole planes", 1, IN(OFF_ZERO(2, 5, 4, 3)), POOL(.whole_plane = true)),
};
CASES(lp_pool);
