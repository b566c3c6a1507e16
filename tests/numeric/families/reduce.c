/* Reductions over axes, and what walks along one. */
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <math.h>

static double join(graph_op op, double sum, double x)
{
    switch (op) {
    case OP_REDUCE_MAX:
        return fmax(sum, x);
    case OP_REDUCE_MIN:
        return fmin(sum, x);
    case OP_REDUCE_PROD:
        return sum * x;
    case OP_REDUCE_L1:
        return sum + fabs(x);
    case OP_REDUCE_L2:
    case OP_REDUCE_SUM_SQUARE:
        return sum + x * x;
    case OP_REDUCE_LOG_SUM_EXP:
        return sum + exp(x);
    default:
        return sum + x;
    }
}

/* A type without infinity has a largest number. */
static double start_of(graph_op op, dtype t)
{
    double most = t == DT_I64 ? 0x1p63 : t == DT_I32 ? 0x1p31 - 1 : (double)INFINITY;
    switch (op) {
    case OP_REDUCE_MAX:
        return t == DT_I32 ? -0x1p31 : -most;
    case OP_REDUCE_MIN:
        return most;
    default:
        return op == OP_REDUCE_PROD;
    }
}

static double finish(graph_op op, double sum, int64_t n)
{
    switch (op) {
    case OP_REDUCE_MEAN:
        return sum / (double)n;
    case OP_REDUCE_L2:
        return sqrt(sum);
    case OP_REDUCE_LOG_SUM:
    case OP_REDUCE_LOG_SUM_EXP:
        return log(sum);
    default:
        return sum;
    }
}

void ref_reduce(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                const void *attr)
{
    (void)n_in;
    const reduce_attr *a = attr;
    bool reduced[GRAPH_RANK] = {false};
    for (int32_t d = 0; d < in->shape.rank && a->n_axes == 0; d++)
        reduced[d] = !a->none;
    for (int32_t k = 0; k < a->n_axes; k++)
        reduced[a->axes[k] < 0 ? a->axes[k] + in->shape.rank : a->axes[k]] = true;
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = start_of(op, out->type);
    int64_t at[GRAPH_RANK] = {0};
    for (int64_t i = 0; i < in->n; i++, ref_advance(&in->shape, at)) {
        int64_t o = 0;
        for (int32_t d = 0; d < in->shape.rank; d++)
            o = reduced[d] ? o : o * in->shape.dim[d] + at[d];
        out->x[o] = join(op, out->x[o], in->x[i]);
    }
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = finish(op, out->x[i], in->n / out->n);
}

static int64_t place_of_extreme(const double *x, ref_axis a, bool smallest, bool last)
{
    int64_t at = 0;
    for (int64_t i = 1; i < a.n; i++) {
        double own = x[i * a.inner], best = x[at * a.inner];
        if (smallest ? own < best : own > best)
            at = i;
        else if (last && own == best)
            at = i;
    }
    return at;
}

static void cumulate(const double *x, double *y, ref_axis a, const cum_sum_attr *attr)
{
    for (int64_t i = 0; i < a.n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < a.n; k++) {
            bool before = attr->reverse ? k > i : k < i;
            if (before || (k == i && !attr->exclusive))
                sum += x[k * a.inner];
        }
        y[i * a.inner] = sum;
    }
}

void ref_along(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
               const void *attr)
{
    (void)n_in;
    int32_t axis = op == OP_CUM_SUM   ? ((const cum_sum_attr *)attr)->axis
                   : op == OP_HARDMAX ? ((const axis_attr *)attr)->axis
                                      : ((const arg_attr *)attr)->axis;
    ref_axis a = ref_split(&in->shape, axis);
    for (int64_t line = 0; line < a.outer * a.inner; line++) {
        int64_t first = line / a.inner * a.n * a.inner + line % a.inner;
        if (op == OP_CUM_SUM) {
            cumulate(in->x + first, out->x + first, a, attr);
            continue;
        }
        bool last = op != OP_HARDMAX && ((const arg_attr *)attr)->last;
        int64_t top = place_of_extreme(in->x + first, a, op == OP_ARG_MIN, last);
        if (op != OP_HARDMAX)
            out->x[line] = (double)top;
        for (int64_t i = 0; op == OP_HARDMAX && i < a.n; i++)
            out->x[first + i * a.inner] = i == top;
    }
}

/* --- cases --- */

#define ARG(...) .attr = ATTR(arg_attr, __VA_ARGS__)
#define CUM(...) .attr = ATTR(cum_sum_attr, __VA_ARGS__)
/* X fills the operand. */
#define REDUCTION(ID, X)                                                                           \
    CASE(ID, "all", 1, IN(X(3, 4, 5)), REDUCE(.drop_dims = true)),                                 \
        CASE(ID, "all, dimensions kept", 1, IN(X(3, 4, 5)), REDUCE(.n_axes = 0)),                  \
        CASE(ID, "rank 1", 1, IN(X(1003)), REDUCE(.axes = {0}, .n_axes = 1)),                      \
        CASE(ID, "first axis", 1, IN(X(6, 17)), REDUCE(.axes = {0}, .n_axes = 1)),                 \
        CASE(ID, "last axis dropped", 1, IN(X(6, 17)),                                             \
             REDUCE(.axes = {-1}, .n_axes = 1, .drop_dims = true)),                                \
        CASE(ID, "middle of rank 4", 1, IN(X(2, 3, 4, 5)),                                         \
             REDUCE(.axes = {1, 2}, .n_axes = 2, .drop_dims = true)),                              \
        CASE(ID, "two apart", 1, IN(X(2, 18, 4, 5)), REDUCE(.axes = {3, 1}, .n_axes = 2)),         \
        CASE(ID, "rank 5", 1, IN(X(2, 3, 2, 3, 2)),                                                \
             REDUCE(.axes = {0, 2, -1}, .n_axes = 3, .drop_dims = true)),                          \
        CASE(ID, "long, all", 1, IN(X(3, 9001)), REDUCE(.drop_dims = true)),                       \
        CASE(ID, "long columns", 1, IN(X(300, 130)), REDUCE(.axes = {0}, .n_axes = 1)),            \
        CASE(ID, "long rows", 1, IN(X(130, 300)), REDUCE(.axes = {1}, .n_axes = 1))

/* The same walk with another function. */
#define SHORT(ID, what, X)                                                                         \
    CASE(ID, what "all", 1, IN(X(3, 4, 5)), REDUCE(.drop_dims = true)),                            \
        CASE(ID, what "nothing", 1, IN(X(3, 4, 5)), REDUCE(.none = true)),                         \
        CASE(ID, what "middle", 1, IN(X(2, 3, 40)), REDUCE(.axes = {1}, .n_axes = 1)),             \
        CASE(ID, what "two apart", 1, IN(X(3, 2, 7)),                                              \
             REDUCE(.axes = {-1, 0}, .n_axes = 2, .drop_dims = true)),                             \
        CASE(ID, what "columns", 1, IN(X(9, 130)), REDUCE(.axes = {0}, .n_axes = 1)),              \
        CASE(ID, what "rows", 1, IN(X(13, 33)),                                                    \
             REDUCE(.axes = {1}, .n_axes = 1, .drop_dims = true)),                                 \
        CASE(ID, what "rank 5", 1, IN(X(2, 3, 2, 2, 3)),                                           \
             REDUCE(.axes = {1, 3}, .n_axes = 2, .drop_dims = true))

#define WHOLES(ID) SHORT(ID, "int64, ", INTS), SHORT(ID, "int32, ", INTS32)
#define PLACES(ID)                                                                                 \
    CASE(ID, "rows", 1, IN(X(13, 33)), ARG(.axis = -1)),                                           \
        CASE(ID, "columns", 1, IN(X(33, 13)), ARG(.axis = 0, .drop_dims = true)),                  \
        CASE(ID, "images", 1, IN(X(2, 5, 3, 4)), ARG(.axis = 1)),                                  \
        CASE(ID, "of alike the first", 1, IN(INTS(4, 33)), ARG(.axis = 1)),                        \
        CASE(ID, "of alike the last", 1, IN(INTS32(4, 33)), ARG(.axis = 1, .last = true)),         \
        CASE(ID, "one", 1, IN(X(4, 1)), ARG(.axis = 1))

static const op_case reduce_rows[] = {
    REDUCTION(REDUCE_SUM, X),
    REDUCTION(REDUCE_MEAN, X),
    REDUCTION(REDUCE_MAX, DISTINCT),
    REDUCTION(REDUCE_LOG_SUM_EXP, X),
    SHORT(REDUCE_SUM, "", X),
    SHORT(REDUCE_MEAN, "", X),
    SHORT(REDUCE_MIN, "", DISTINCT),
    SHORT(REDUCE_PROD, "", POSITIVE),
    SHORT(REDUCE_L1, "", OFF_ZERO),
    SHORT(REDUCE_L2, "", X),
    SHORT(REDUCE_SUM_SQUARE, "", X),
    SHORT(REDUCE_LOG_SUM, "", POSITIVE),
    WHOLES(REDUCE_SUM),
    WHOLES(REDUCE_MAX),
    WHOLES(REDUCE_MIN),
    CASE(REDUCE_PROD, "int64", 1, IN(INTS(4, 9)), REDUCE(.axes = {1}, .n_axes = 1)),
    CASE(REDUCE_PROD, "int32", 1, IN(INTS32(5, 4)), REDUCE(.axes = {0}, .n_axes = 1)),
    CASE(REDUCE_MAX, "ties", 1, IN(WHOLE(4, 3)), REDUCE(.axes = {1}, .n_axes = 1)),
    CASE(REDUCE_PROD, "zeros", 1, IN(WHOLE(12, 5)), REDUCE(.axes = {1}, .n_axes = 1)),
    CASE(REDUCE_PROD, "columns with zeros", 1, IN(WHOLE(5, 12)),
         REDUCE(.axes = {0}, .n_axes = 1, .drop_dims = true)),
};
CASES(reduce);

static const op_case along_rows[] = {
    PLACES(ARG_MAX),
    PLACES(ARG_MIN),
    CASE(HARDMAX, "rows", 1, IN(DISTINCT(13, 33)), AXIS(-1)),
    CASE(HARDMAX, "channels", 1, IN(DISTINCT(2, 5, 3, 4)), AXIS(1)),
    CASE(CUM_SUM, "rows", 1, IN(X(13, 33)), CUM(.axis = -1)),
    CASE(CUM_SUM, "columns", 1, IN(X(33, 13)), CUM(.axis = 0)),
    CASE(CUM_SUM, "exclusive", 1, IN(X(2, 5, 3)), CUM(.axis = 1, .exclusive = true)),
    CASE(CUM_SUM, "reverse", 1, IN(X(2, 5, 3)), CUM(.axis = 1, .reverse = true)),
    CASE(CUM_SUM, "both", 1, IN(X(2, 5, 3)), CUM(.axis = 1, .exclusive = true, .reverse = true)),
    CASE(CUM_SUM, "int64", 1, IN(INTS(4, 9)), CUM(.axis = 1, .exclusive = true)),
    CASE(CUM_SUM, "int32", 1, IN(INTS32(4, 9)), CUM(.axis = 1, .reverse = true)),
    CASE(CUM_SUM, "one", 1, IN(X(4, 1)), CUM(.axis = 1, .exclusive = true)),
};
CASES(along);
