/* Softmax, its loss, and how often it is right. */
#include "common/base/alloc.h"
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void log_softmax(const ref_tensor *in, const ref_tensor *out, int32_t axis)
{
    ref_axis a = ref_split(&in->shape, axis);
    for (int64_t row = 0; row < a.outer * a.inner; row++) {
        int64_t first = row / a.inner * a.n * a.inner + row % a.inner;
        double most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < a.n; k++)
            most = fmax(most, in->x[first + k * a.inner]);
        for (int64_t k = 0; k < a.n; k++)
            sum += exp(in->x[first + k * a.inner] - most);
        for (int64_t k = 0; k < a.n; k++)
            out->x[first + k * a.inner] = in->x[first + k * a.inner] - most - log(sum);
    }
}

void ref_softmax(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                 const void *attr)
{
    (void)n_in;
    log_softmax(in, out, ((const axis_attr *)attr)->axis);
    for (int64_t i = 0; i < out->n && op == OP_SOFTMAX; i++)
        out->x[i] = exp(out->x[i]);
}

void ref_loss(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
              const void *attr)
{
    (void)op;
    const sce_attr *a = attr;
    double *log_prob = xcalloc((size_t)in[0].n, sizeof *log_prob);
    ref_tensor log_probs = {.shape = in[0].shape, .n = in[0].n, .x = log_prob};
    if (a->log_probs)
        memcpy(log_prob, in[0].x, (size_t)in[0].n * sizeof *log_prob);
    else
        log_softmax(&in[0], &log_probs, 1);
    ref_axis axis = ref_split(&in[0].shape, 1);
    double sum = 0, weight_sum = 0;
    for (int64_t row = 0; row < in[1].n; row++) {
        int64_t label = (int64_t)in[1].x[row];
        bool ignored = a->has_ignore_index && label == a->ignore_index;
        double weight = ignored ? 0 : n_in > 2 && in[2].x ? in[2].x[label] : 1;
        int64_t first = row / axis.inner * axis.n * axis.inner + row % axis.inner;
        double loss = ignored ? 0 : -weight * log_prob[first + label * axis.inner];
        sum += loss;
        weight_sum += weight;
        if (a->reduction == SCE_NONE)
            out[0].x[row] = loss;
    }
    if (a->reduction != SCE_NONE)
        out[0].x[0] = a->reduction == SCE_MEAN ? sum / weight_sum : sum;
    free(log_prob);
}

/* A label is right if no class before its own scores as much and none behind it more. */
static bool is_right(const ref_tensor *scores, int64_t row, int64_t label)
{
    ref_axis axis = ref_split(&scores->shape, 1);
    const double *x = scores->x + row / axis.inner * axis.n * axis.inner + row % axis.inner;
    if (axis.n == 1)
        return (x[0] > 0) == (label == 1);
    for (int64_t k = 0; k < axis.n; k++) {
        double other = x[k * axis.inner], own = x[label * axis.inner];
        if (k < label ? other >= own : other > own)
            return false;
    }
    return true;
}

void ref_accuracy(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                  const void *attr)
{
    (void)op, (void)n_in;
    const accuracy_attr *a = attr;
    double right = 0, counted = 0;
    for (int64_t row = 0; row < in[1].n; row++) {
        int64_t label = (int64_t)in[1].x[row];
        if (a->has_ignore_index && label == a->ignore_index)
            continue;
        counted++;
        right += is_right(&in[0], row, label);
    }
    out[0].x[0] = right;
    out[1].x[0] = counted;
}

/* --- cases --- */

#define ALONG(ID)                                                                                  \
    CASE(ID, "rank 1", 1, IN(X(7)), AXIS(0)), CASE(ID, "last axis", 1, IN(X(5, 33)), AXIS(-1)),    \
        CASE(ID, "first axis", 1, IN(X(5, 6)), AXIS(0)),                                           \
        CASE(ID, "channels", 1, IN(X(2, 19, 4, 3)), AXIS(1)),                                      \
        CASE(ID, "rank 5", 1, IN(X(2, 3, 4, 2, 3)), AXIS(-2)),                                     \
        CASE(ID, "one class", 1, IN(X(4, 1)), AXIS(1)),                                            \
        CASE(ID, "long", 1, IN(X(70, 333)), AXIS(1)),                                              \
        CASE(ID, "long columns", 1, IN(X(3, 257, 40)), AXIS(1))

static const op_case softmax_rows[] = {
    ALONG(SOFTMAX),
    ALONG(LOG_SOFTMAX),
};
CASES(softmax);

static const op_case loss_rows[] = {
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "mean", 2, IN(X(8, 10), LABELS(8)),
         LOSS(.reduction = SCE_MEAN)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "sum", 2, IN(X(5, 17), LABELS(5)), LOSS(.reduction = SCE_SUM)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "none", 2, IN(X(5, 7), LABELS(5)),
         LOSS(.reduction = SCE_NONE)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "int32 labels", 3, IN(X(5, 7, 3), LABELS32(5, 3), POSITIVE(7)),
         LOSS(.reduction = SCE_SUM)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "batch 1", 2, IN(X(1, 3), LABELS(1)),
         LOSS(.reduction = SCE_MEAN)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "many classes", 2, IN(X(70, 333), LABELS(70)),
         LOSS(.reduction = SCE_MEAN)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "many rows", 2, IN(X(9001, 3), LABELS(9001)),
         LOSS(.reduction = SCE_MEAN)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "weights", 3, IN(X(6, 4), LABELS(6), POSITIVE(4)),
         LOSS(.reduction = SCE_MEAN)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "ignored label", 2, IN(X(8, 5), LABELS(8)),
         LOSS(.reduction = SCE_MEAN, .has_ignore_index = true, .ignore_index = -100)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "ignored class", 2, IN(X(8, 5), LABELS(8)),
         LOSS(.reduction = SCE_SUM, .has_ignore_index = true, .ignore_index = 2)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "images, weights, ignored label", 3,
         IN(X(2, 5, 3, 4), LABELS(2, 3, 4), POSITIVE(5)),
         LOSS(.reduction = SCE_MEAN, .has_ignore_index = true, .ignore_index = -1)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "images, none, weights", 3,
         IN(X(2, 5, 3), LABELS(2, 3), POSITIVE(5)), LOSS(.reduction = SCE_NONE)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "given, weights, ignored label", 3,
         IN(X(6, 5), LABELS(6), POSITIVE(5)),
         LOSS(.log_probs = true, .reduction = SCE_MEAN, .has_ignore_index = true,
              .ignore_index = -1)),
    CASE(SOFTMAX_CROSS_ENTROPY_LOSS, "given, images, none", 2, IN(X(2, 5, 3, 2), LABELS(2, 3, 2)),
         LOSS(.log_probs = true, .reduction = SCE_NONE)),
};
CASES(loss);

static const op_case accuracy_rows[] = {
    CASE(ACCURACY, "rows", 2, IN(X(70, 7), LABELS(70))),
    CASE(ACCURACY, "logits", 2, IN(X(33, 1), LABELS(33))),
    CASE(ACCURACY, "many rows, ignored label", 2, IN(X(5000, 3), LABELS(5000)),
         COUNT_(.has_ignore_index = true, .ignore_index = -100)),
    CASE(ACCURACY, "images, ignored class", 2, IN(X(3, 4, 5, 7), LABELS(3, 5, 7)),
         COUNT_(.has_ignore_index = true, .ignore_index = 2)),
    CASE(ACCURACY, "spans", 2, IN(X(3, 9, 2), LABELS(3, 2))),
};
CASES(accuracy);
