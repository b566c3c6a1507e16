/* The reference of convolution's relatives and of normalisation over channels. */
#include "numeric/support_reference_ops.h"

#include <math.h>
#include <string.h>

/* Every element of x adds its multiple of the kernel to y, where that lies in y. */
void ref_conv_transpose(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    const conv_attr *a = attr;
    const graph_shape *x = &in[0].shape, *w = &in[1].shape, *y = &out->shape;
    int64_t group = a->group ? a->group : 1, planes = out->n / (y->dim[0] * y->dim[1]);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = n_in > 2 && in[2].x ? in[2].x[i / planes % y->dim[1]] : 0;
    for (int64_t i = 0; i < in[0].n; i++) {
        int64_t at[GRAPH_RANK], tap[GRAPH_RANK], to[GRAPH_RANK];
        ref_unravel(x, i, at);
        int64_t taps = in[1].n / w->dim[0];
        for (int64_t k = at[1] * taps; k < (at[1] + 1) * taps; k++) {
            ref_unravel(w, k, tap);
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

void ref_group_norm(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const group_norm_attr *a = attr;
    double epsilon = (double)a->epsilon;
    int64_t channels = in[0].shape.dim[1], groups = out[1].shape.dim[1];
    int64_t n = in[0].n / (in[0].shape.dim[0] * groups),
            plane = channels ? n / (channels / groups) : 0;
    for (int64_t g = 0; g < in[0].shape.dim[0] * groups; g++) {
        const double *x = in[0].x + g * n;
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++)
            sum += x[i];
        for (int64_t i = 0; i < n; i++)
            squares += (x[i] - sum / (double)n) * (x[i] - sum / (double)n);
        out[1].x[g] = sum / (double)n;
        out[2].x[g] = 1 / sqrt(squares / (double)n + epsilon);
        for (int64_t i = 0; i < n; i++) {
            int64_t c = (g * n + i) / plane % channels;
            out[0].x[g * n + i] = (x[i] - out[1].x[g]) * out[2].x[g] * in[1].x[c] + in[2].x[c];
        }
    }
}

void ref_lrn(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const lrn_attr *a = attr;
    ref_axis axis = ref_split(&in[0].shape, 1);
    int64_t before = (a->size - 1) / 2, behind = a->size - 1 - before;
    for (int64_t i = 0; i < in[0].n; i++) {
        int64_t c = i / axis.inner % axis.n;
        double sum = 0;
        for (int64_t k = c - before; k <= c + behind; k++)
            if (k >= 0 && k < axis.n)
                sum += pow(in[0].x[i + (k - c) * axis.inner], 2);
        out[1].x[i] = (double)a->bias + (double)a->alpha / (double)a->size * sum;
        out[0].x[i] = in[0].x[i] / pow(out[1].x[i], (double)a->beta);
    }
}
