/* Reductions and what walks along an axis, from the texts of ONNX. */
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

void ref_reduce(graph_op op, const ref_tensor *in, const ref_tensor *out, const void *attr)
{
    const reduce_attr *a = attr;
    bool reduced[GRAPH_RANK] = {false};
    for (int32_t d = 0; d < in->shape.rank && a->n_axes == 0; d++)
        reduced[d] = !a->none;
    for (int32_t k = 0; k < a->n_axes; k++)
        reduced[a->axes[k] < 0 ? a->axes[k] + in->shape.rank : a->axes[k]] = true;
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = start_of(op, out->type);
    int64_t at[GRAPH_RANK];
    for (int64_t i = 0; i < in->n; i++) {
        ref_unravel(&in->shape, i, at);
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

void ref_along(graph_op op, const ref_tensor *in, const ref_tensor *out, const void *attr)
{
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
