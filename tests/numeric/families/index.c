/* Picks and puts by index. */
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

static void gather_axis(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
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

static void gather_elements(const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                         const void *attr)
{
    (void)n_in;
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = in[0].x[named_element(&in[0], &in[1], i, ((const index_attr *)attr)->axis)];
}

static void scatter_elements(const ref_tensor *in, int32_t n_in, const ref_tensor *out,
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

static void gather_nd(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    (void)n_in;
    int64_t inner = slice_of(&in[1], out->n);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = in[0].x[named_slice(&in[0], &in[1], i / inner,
                                        ((const index_attr *)attr)->batch_dims, i % inner)];
}

static void scatter_nd(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
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

void ref_gather(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                const void *attr)
{
    if (op == OP_GATHER)
        gather_axis(in, n_in, out, attr);
    else if (op == OP_GATHER_ELEMENTS)
        gather_elements(in, n_in, out, attr);
    else
        gather_nd(in, n_in, out, attr);
}

void ref_scatter(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                 const void *attr)
{
    if (op == OP_SCATTER_ELEMENTS)
        scatter_elements(in, n_in, out, attr);
    else
        scatter_nd(in, n_in, out, attr);
}

void ref_one_hot(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                 const void *attr)
{
    (void)op, (void)n_in;
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

void ref_top_k(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
               const void *attr)
{
    (void)op, (void)n_in;
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

/* --- cases --- */

#define GATHER_(a) .attr = ATTR(gather_attr, .axis = a)
#define ALONG(...) .attr = ATTR(index_attr, .axis = __VA_ARGS__)
#define BATCH_(n)  .attr = ATTR(index_attr, .batch_dims = n)
#define BY(r)      .attr = ATTR(index_attr, .reduction = SCATTER_##r)
#define HOT(...)   .attr = ATTR(one_hot_attr, __VA_ARGS__)
#define TOP(...)   .attr = ATTR(top_k_attr, __VA_ARGS__)
#define NARROW(...)                                                                                \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_INDEX, DT_I32                                                     \
    }

#define WHOLE(...)                                                                                 \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_WHOLE, DT_F32                                                     \
    }

static const op_case gather_rows[] = {
    CASE(GATHER, "an embedding", 2, IN(X(11, 6), INDICES(3, 5)), GATHER_(0)),
    CASE(GATHER, "a wide table", 2, IN(X(130, 300), INDICES(4, 65)), GATHER_(0)),
    CASE(GATHER, "a long table, one column", 2, IN(X(30011, 1), INDICES(33, 1)), GATHER_(0)),
    CASE(GATHER, "a long narrow table", 2, IN(X(5003, 7), INDICES(2, 70)), GATHER_(0)),
    CASE(GATHER, "one index", 2, IN(X(5, 4), INDEX), GATHER_(0)),
    CASE(GATHER, "one index of the last axis", 2, IN(X(3, 4, 5), INDEX), GATHER_(-1)),
    CASE(GATHER, "columns", 2, IN(X(3, 17), INDICES(9)), GATHER_(1)),
    CASE(GATHER, "a middle axis", 2, IN(X(2, 5, 3, 4), INDICES(2, 3)), GATHER_(-3)),
    CASE(GATHER, "vector", 2, IN(X(13), INDICES(2, 3, 2)), GATHER_(0)),
    CASE(GATHER, "channels", 2, IN(X(2, 19, 3, 3), INDICES(6)), GATHER_(1)),
    CASE(GATHER, "many outer", 2, IN(X(300, 9, 17), INDICES(5)), GATHER_(1)),
    CASE(GATHER, "few rows, often", 2, IN(X(3, 5), INDICES(700)), GATHER_(0)),
    CASE(GATHER, "int32 indices", 2, IN(X(9, 4), NARROW(5)), GATHER_(0)),
    CASE(GATHER, "whole numbers", 2, IN(INTS(9, 4), INDICES(5)), GATHER_(1)),
    CASE(GATHER, "bits", 2, IN(BITS(9), INDICES(5)), GATHER_(0)),
    CASE(GATHER_ELEMENTS, "rows", 2, IN(X(5, 4), INDICES(3, 4)), ALONG(0)),
    CASE(GATHER_ELEMENTS, "columns", 2, IN(X(5, 4), INDICES(5, 9)), ALONG(-1)),
    CASE(GATHER_ELEMENTS, "fewer rows than there are", 2, IN(X(5, 4), INDICES(3, 2)), ALONG(1)),
    CASE(GATHER_ELEMENTS, "a middle axis", 2, IN(X(2, 7, 3), NARROW(2, 5, 3)), ALONG(1)),
    CASE(GATHER_ELEMENTS, "vector", 2, IN(X(7), INDICES(40)), ALONG(0)),
    CASE(GATHER_ELEMENTS, "long", 2, IN(X(120, 333), INDICES(120, 200)), ALONG(1)),
    CASE(GATHER_ELEMENTS, "whole numbers", 2, IN(INTS(5, 4), INDICES(3, 4)), ALONG(0)),
    CASE(GATHER_ND, "elements", 2, IN(X(3, 4), INDICES(5, 2))),
    CASE(GATHER_ND, "rows", 2, IN(X(6, 4), INDICES(2, 3, 1))),
    CASE(GATHER_ND, "one slice", 2, IN(X(3, 4, 5, 2), INDICES(2))),
    CASE(GATHER_ND, "a batch", 2, IN(X(3, 4, 5), INDICES(3, 2, 1)), BATCH_(1)),
    CASE(GATHER_ND, "a batch of two axes", 2, IN(X(2, 3, 4, 5), INDICES(2, 3, 2)), BATCH_(2)),
    CASE(GATHER_ND, "long", 2, IN(X(40, 30, 70), NARROW(300, 2))),
    CASE(GATHER_ND, "bits", 2, IN(BITS(3, 4), INDICES(5, 2))),
};
CASES(gather);

static const op_case scatter_rows[] = {
    CASE(SCATTER_ELEMENTS, "rows", 3, IN(X(5, 4), INDICES(3, 4), X(3, 4)), ALONG(0)),
    CASE(SCATTER_ELEMENTS, "columns", 3, IN(X(5, 9), INDICES(4, 6), X(4, 6)), ALONG(-1)),
    CASE(SCATTER_ELEMENTS, "added", 3, IN(X(5, 4), INDICES(9, 4), X(9, 4)),
         ALONG(0, .reduction = SCATTER_ADD)),
    CASE(SCATTER_ELEMENTS, "examples of a batch", 3, IN(X(4, 7), INDICES(4, 3), X(4, 3)), ALONG(1)),
    CASE(SCATTER_ELEMENTS, "added, long", 3, IN(X(40, 300), INDICES(40, 700), X(40, 700)),
         ALONG(1, .reduction = SCATTER_ADD)),
    CASE(SCATTER_ELEMENTS, "whole numbers added", 3, IN(INTS(5), INDICES(9), INTS(9)),
         ALONG(0, .reduction = SCATTER_ADD)),
    CASE(SCATTER_ELEMENTS, "bits", 3, IN(BITS(5, 3), INDICES(2, 3), BITS(2, 3)), ALONG(0)),
    CASE(SCATTER_ND, "elements", 3, IN(X(3, 4), INDICES(5, 2), X(5))),
    CASE(SCATTER_ND, "rows", 3, IN(X(7, 4), INDICES(2, 3, 1), X(2, 3, 4))),
    CASE(SCATTER_ND, "examples of a batch", 3, IN(X(4, 5), INDICES(4, 2, 1), X(4, 2)), BATCH_(1)),
    CASE(SCATTER_ND, "rows added", 3, IN(X(4, 5), INDICES(9, 1), X(9, 5)), BY(ADD)),
    CASE(SCATTER_ND, "long rows added", 3, IN(X(40, 300), NARROW(90, 1), X(90, 300)), BY(ADD)),
    CASE(SCATTER_ND, "thousands of rows added", 3, IN(X(2, 3), INDICES(9000, 1), X(9000, 3)), BY(ADD)),
    CASE(SCATTER_ELEMENTS, "hundreds added", 3, IN(X(3, 2), INDICES(3, 500), X(3, 500)),
         ALONG(1, .reduction = SCATTER_ADD)),
    CASE(SCATTER_ELEMENTS, "multiplied", 3, IN(X(5, 4), INDICES(7, 4), X(7, 4)),
         ALONG(0, .reduction = SCATTER_MUL)),
    CASE(SCATTER_ELEMENTS, "largest", 3, IN(X(5, 4), INDICES(7, 4), X(7, 4)),
         ALONG(0, .reduction = SCATTER_MAX)),
    CASE(SCATTER_ELEMENTS, "zeros multiplied", 3, IN(WHOLE(4, 9), INDICES(7, 9), WHOLE(7, 9)),
         ALONG(0, .reduction = SCATTER_MUL)),
    CASE(SCATTER_ND, "multiplied", 3, IN(X(5, 4), INDICES(6, 1), X(6, 4)), BY(MUL)),
    CASE(SCATTER_ND, "smallest", 3, IN(X(5, 4), INDICES(9, 2), X(9)), BY(MIN)),
    CASE(SCATTER_ND, "largest of whole numbers", 3, IN(INTS(5), INDICES(9, 1), INTS(9)), BY(MAX)),
    CASE(SCATTER_ND, "smallest of int32", 3, IN(INTS32(5), INDICES(9, 1), INTS32(9)), BY(MIN)),
    CASE(SCATTER_ND, "whole numbers multiplied", 3, IN(INTS(5), INDICES(9, 1), INTS(9)), BY(MUL)),
    CASE(SCATTER_ND, "int32 added", 3, IN(INTS32(4, 5), INDICES(9, 1), INTS32(9, 5)), BY(ADD)),
};
CASES(scatter);

static const op_case one_hot_rows[] = {
    CASE(ONE_HOT, "last axis", 1, IN(INTS(3, 4)), HOT(.axis = -1, .depth = 5, .on = 1)),
    CASE(ONE_HOT, "first axis", 1, IN(INTS32(3, 4)),
         HOT(.axis = 0, .depth = 4, .off = 2, .on = -3)),
    CASE(ONE_HOT, "middle axis, floats", 1, IN(WHOLE(2, 3)),
         HOT(.axis = 1, .depth = 3, .on = 1, .type = DT_I64)),
    CASE(ONE_HOT, "bits", 1, IN(INTS(300)), HOT(.axis = 1, .depth = 70, .on = 1, .type = DT_BOOL)),
    CASE(ONE_HOT, "int32", 1, IN(INTS(7)), HOT(.axis = 1, .depth = 6, .on = 9, .type = DT_I32)),
};
CASES(one_hot);

static const op_case top_k_rows[] = {
    CASE(TOP_K, "none", 1, IN(DISTINCT(3, 9)), TOP(.axis = -1)),
    CASE(TOP_K, "largest", 1, IN(DISTINCT(3, 11)), TOP(.axis = -1, .k = 4)),
    CASE(TOP_K, "smallest", 1, IN(DISTINCT(3, 11)), TOP(.axis = 1, .k = 4, .smallest = true)),
    CASE(TOP_K, "first axis", 1, IN(DISTINCT(11, 3)), TOP(.axis = 0, .k = 5)),
    CASE(TOP_K, "all, a middle axis", 1, IN(DISTINCT(2, 7, 3)), TOP(.axis = 1, .k = 7)),
    CASE(TOP_K, "one of a long row", 1, IN(DISTINCT(3, 5001)), TOP(.axis = 1, .k = 1)),
    CASE(TOP_K, "many of a long row", 1, IN(DISTINCT(2, 3001)), TOP(.axis = 1, .k = 500)),
    CASE(TOP_K, "ties", 1, IN(INTS(4, 33)), TOP(.axis = 1, .k = 9)),
    CASE(TOP_K, "ties, smallest", 1, IN(INTS32(33, 4)), TOP(.axis = 0, .k = 9, .smallest = true)),
};
CASES(top_k);
