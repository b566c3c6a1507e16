/* Operators that move elements, from the coordinates of each. */
#include "numeric/support_reference_ops.h"

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

void ref_trilu(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const trilu_attr *a = attr;
    int32_t rank = out->shape.rank;
    int64_t at[GRAPH_RANK];
    for (int64_t i = 0; i < out->n; i++) {
        ref_unravel(&out->shape, i, at);
        double beyond = (double)(at[rank - 1] - at[rank - 2]) - (double)a->k;
        out->x[i] = (a->upper ? beyond >= 0 : beyond <= 0) ? in[0].x[i] : 0;
    }
}

void ref_reverse_sequence(const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                          const void *attr)
{
    (void)n_in;
    int batch = ((const sequence_attr *)attr)->batch_first ? 0 : 1;
    int64_t at[GRAPH_RANK];
    for (int64_t i = 0; i < out->n; i++) {
        ref_unravel(&out->shape, i, at);
        int64_t length = (int64_t)in[1].x[at[batch]];
        if (at[1 - batch] < length)
            at[1 - batch] = length - 1 - at[1 - batch];
        out->x[i] = in[0].x[ref_ravel(&in[0].shape, at)];
    }
}
