/* Operators that move elements by what other elements say. */
#include "numeric/support_reference_ops.h"

void ref_gather(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    ref_axis a = ref_split(&in[0].shape, ((const gather_attr *)attr)->axis);
    for (int64_t i = 0; i < out->n; i++) {
        int64_t inner = i % a.inner, pick = i / a.inner % in[1].n, outer = i / a.inner / in[1].n;
        int64_t at = (int64_t)in[1].x[pick];
        out->x[i] = in[0].x[(outer * a.n + (at < 0 ? at + a.n : at)) * a.inner + inner];
    }
}

/* numpy's x[begin:end:step], from the attributes as the graph completed them. */
void ref_slice(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const slice_attr *a = attr;
    int64_t at[GRAPH_RANK];
    for (int64_t i = 0; i < out->n; i++) {
        ref_unravel(&out->shape, i, at);
        for (int32_t d = 0; d < out->shape.rank; d++)
            at[d] = a->begin[d] + at[d] * a->step[d];
        out->x[i] = in[0].x[ref_ravel(&in[0].shape, at)];
    }
}
