/* Operators that pick or put by index, one element after the other. */
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

/* The element of x that element i of the indices names, on their own axes but for one. */
static int64_t named_element(const ref_tensor *x, const ref_tensor *by, int64_t i, int32_t axis)
{
    int64_t at[GRAPH_RANK], size = x->shape.dim[axis];
    ref_unravel(&by->shape, i, at);
    at[axis] = (int64_t)by->x[i];
    at[axis] += at[axis] < 0 ? size : 0;
    return ref_ravel(&x->shape, at);
}

/* The element of x at place `inner` of the slice that position p of the indices names. */
static int64_t named_slice(const ref_tensor *x, const ref_tensor *by, int64_t p, int32_t batch,
                           int64_t inner)
{
    int32_t depth = (int32_t)by->shape.dim[by->shape.rank - 1], rank = x->shape.rank;
    graph_shape positions = by->shape, slice = {.rank = rank - batch - depth};
    int64_t at[GRAPH_RANK], where[GRAPH_RANK];
    positions.rank--;
    ref_unravel(&positions, p, where);
    for (int32_t i = 0; i < batch; i++)
        at[i] = where[i];
    for (int32_t k = 0; k < depth; k++) {
        at[batch + k] = (int64_t)by->x[p * depth + k];
        at[batch + k] += at[batch + k] < 0 ? x->shape.dim[batch + k] : 0;
    }
    for (int32_t i = 0; i < slice.rank; i++)
        slice.dim[i] = x->shape.dim[batch + depth + i];
    ref_unravel(&slice, inner, at + batch + depth);
    return ref_ravel(&x->shape, at);
}

static double combine(scatter_reduction r, double a, double b)
{
    switch (r) {
    case SCATTER_ADD:
        return a + b;
    case SCATTER_MUL:
        return a * b;
    case SCATTER_MAX:
        return a > b ? a : b;
    case SCATTER_MIN:
        return a < b ? a : b;
    default:
        return b;
    }
}

void ref_gather_elements(const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                         const void *attr)
{
    (void)n_in;
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = in[0].x[named_element(&in[0], &in[1], i, ((const index_attr *)attr)->axis)];
}

void ref_scatter_elements(const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                          const void *attr)
{
    (void)n_in;
    const index_attr *a = attr;
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = in[0].x[i];
    for (int64_t i = 0; i < in[2].n; i++) {
        double *y = &out->x[named_element(&in[0], &in[1], i, a->axis)];
        *y = combine(a->reduction, *y, in[2].x[i]);
    }
}

/* Elements of what one position of the indices names, `n` of all. */
static int64_t slice_of(const ref_tensor *by, int64_t n)
{
    return by->n ? n / (by->n / by->shape.dim[by->shape.rank - 1]) : 0;
}

void ref_gather_nd(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    int64_t inner = slice_of(&in[1], out->n);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = in[0].x[named_slice(&in[0], &in[1], i / inner,
                                        ((const index_attr *)attr)->batch_dims, i % inner)];
}

void ref_scatter_nd(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const index_attr *a = attr;
    int64_t inner = slice_of(&in[1], in[2].n);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = in[0].x[i];
    for (int64_t i = 0; i < in[2].n; i++) {
        double *y = &out->x[named_slice(&in[0], &in[1], i / inner, a->batch_dims, i % inner)];
        *y = combine(a->reduction, *y, in[2].x[i]);
    }
}

void ref_one_hot(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const one_hot_attr *a = attr;
    ref_axis y = ref_split(&out->shape, a->axis);
    for (int64_t i = 0; i < out->n; i++) {
        int64_t at = i / y.inner % y.n, from = i / y.inner / y.n * y.inner + i % y.inner;
        int64_t hot = (int64_t)in[0].x[from];
        out->x[i] = at == hot || at == hot + y.n ? a->on : a->off;
    }
}

/* How many elements of the line come before element i. */
static int64_t rank_in_line(const double *x, const ref_axis *a, int64_t i, bool smallest)
{
    int64_t before = 0;
    for (int64_t j = 0; j < a->n; j++) {
        double mine = x[i * a->inner], other = x[j * a->inner];
        before += smallest ? other < mine : other > mine;
        before += other == mine && j < i;
    }
    return before;
}

void ref_top_k(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    const top_k_attr *a = attr;
    ref_axis x = ref_split(&in[0].shape, a->axis);
    for (int64_t line = 0; line < x.outer * x.inner; line++) {
        int64_t o = line / x.inner, inner = line % x.inner;
        const double *from = in[0].x + o * x.n * x.inner + inner;
        for (int64_t i = 0; i < x.n; i++) {
            int64_t to = rank_in_line(from, &x, i, a->smallest);
            if (to >= a->k)
                continue;
            out[0].x[(o * a->k + to) * x.inner + inner] = from[i * x.inner];
            out[1].x[(o * a->k + to) * x.inner + inner] = (double)i;
        }
    }
}
