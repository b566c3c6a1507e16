/* Normalization over channels, groups, neighbours and rows. */
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <math.h>

void ref_group_norm(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                    const void *attr)
{
    (void)op, (void)n_in;
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

void ref_lrn(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
             const void *attr)
{
    (void)op, (void)n_in;
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

/* Mean and variance (of the whole batch, so divided by its count) of channel c. */
static void channel_moments(const ref_tensor *x, int64_t c, double *ret_mean, double *ret_var)
{
    ref_axis a = ref_split(&x->shape, 1);
    double sum = 0, squares = 0, count = (double)(a.outer * a.inner);
    for (int64_t i = 0; i < a.outer * a.inner; i++)
        sum += x->x[(i / a.inner * a.n + c) * a.inner + i % a.inner];
    double mean = sum / count;
    for (int64_t i = 0; i < a.outer * a.inner; i++) {
        double off = x->x[(i / a.inner * a.n + c) * a.inner + i % a.inner] - mean;
        squares += off * off;
    }
    *ret_mean = mean;
    *ret_var = squares / count;
}

void ref_batch_norm(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                    const void *attr)
{
    (void)op, (void)n_in;
    const batch_norm_attr *a = attr;
    double epsilon = (double)a->epsilon;
    ref_axis axis = ref_split(&in[0].shape, 1);
    for (int64_t c = 0; c < axis.n; c++) {
        double mean = in[3].x[c], var = in[4].x[c];
        if (a->training)
            channel_moments(&in[0], c, &mean, &var);
        for (int64_t i = 0; i < axis.outer * axis.inner; i++) {
            int64_t at = (i / axis.inner * axis.n + c) * axis.inner + i % axis.inner;
            out[0].x[at] = (in[0].x[at] - mean) / sqrt(var + epsilon) * in[1].x[c] + in[2].x[c];
        }
        if (out[1].x)
            out[1].x[c] = mean;
        if (out[2].x)
            out[2].x[c] = var;
    }
}

static void row_norm(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr,
                     bool centred)
{
    const row_norm_attr *a = attr;
    int64_t n = in[1].n, rows = out[1].n;
    double epsilon = (double)a->epsilon;
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0].x + r * n;
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++)
            sum += x[i];
        double mean = centred ? sum / (double)n : 0;
        for (int64_t i = 0; i < n; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        double inverse = 1 / sqrt(squares / (double)n + epsilon);
        for (int64_t i = 0; i < n; i++)
            out[0].x[r * n + i] =
                (x[i] - mean) * inverse * in[1].x[i] + (n_in > 2 && in[2].x ? in[2].x[i] : 0);
        if (centred && out[1].x)
            out[1].x[r] = mean;
        if (out[centred ? 2 : 1].x)
            out[centred ? 2 : 1].x[r] = inverse;
    }
}

void ref_row_norm(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                  const void *attr)
{
    row_norm(in, n_in, out, attr, op == OP_LAYER_NORMALIZATION);
}

/* --- cases --- */

#define ROWS(...)       .attr = ATTR(row_norm_attr, __VA_ARGS__)

static const op_case group_norm_rows[] = {
    CASE(GROUP_NORMALIZATION, "two groups", 3, IN(X(3, 6, 5, 4), X(6), X(6)), GROUPS_(.groups = 2)),
    CASE(GROUP_NORMALIZATION, "groups that straddle vectors", 3, IN(X(2, 36, 3, 5), X(36), X(36)),
         GROUPS_(.groups = 3, .epsilon = 1e-2f)),
    CASE(GROUP_NORMALIZATION, "groups within a vector", 3, IN(X(2, 32, 4, 4), X(32), X(32)),
         GROUPS_(.groups = 8)),
    CASE(GROUP_NORMALIZATION, "one group, one axis", 3, IN(X(2, 5, 7), X(5), X(5)),
         GROUPS_(.groups = 1)),
    CASE(GROUP_NORMALIZATION, "three axes", 3, IN(X(2, 4, 3, 4, 5), X(4), X(4)),
         GROUPS_(.groups = 2)),
    CASE(GROUP_NORMALIZATION, "long planes", 3, IN(X(1, 2, 65, 67), X(2), X(2)),
         GROUPS_(.groups = 1)),
    CASE(INSTANCE_NORMALIZATION, "images", 3, IN(X(2, 19, 5, 7), X(19), X(19)),
         GROUPS_(.epsilon = 1e-3f)),
    CASE(INSTANCE_NORMALIZATION, "signals", 3, IN(X(3, 4, 9), X(4), X(4)), GROUPS_(.groups = 0)),
    CASE(INSTANCE_NORMALIZATION, "videos", 3, IN(X(1, 16, 2, 3, 4), X(16), X(16)),
         GROUPS_(.groups = 0)),
};
CASES(group_norm);

static const op_case lrn_rows[] = {
    CASE(LRN, "three neighbours", 1, IN(X(2, 7, 4, 5)),
         LRN_(.size = 3, .alpha = 0.3f, .beta = 0.75f, .bias = 1)),
    CASE(LRN, "an even number", 1, IN(X(2, 17, 3, 3)),
         LRN_(.size = 4, .alpha = 1, .beta = 0.5f, .bias = 2)),
    CASE(LRN, "more than there are, long planes", 1, IN(X(1, 3, 21, 20)),
         LRN_(.size = 9, .alpha = 0.5f, .beta = 0.75f, .bias = 1)),
    CASE(LRN, "rows", 1, IN(X(4, 9)),
         LRN_(.size = 5, .alpha = 0.2f, .beta = 0.75f, .bias = 1)),
};
CASES(lrn);

static const op_case batch_norm_rows[] = {
    CASE(BATCH_NORMALIZATION, "training, images", 5,
         IN(X(4, 3, 5, 5), X(3), X(3), X(3), POSITIVE(3)), NORM(.training = true)),
    CASE(BATCH_NORMALIZATION, "training, odd channels", 5,
         IN(X(2, 17, 3, 4), X(17), X(17), X(17), POSITIVE(17)), NORM(.training = true)),
    CASE(BATCH_NORMALIZATION, "training, rows", 5, IN(X(8, 6), X(6), X(6), X(6), POSITIVE(6)),
         NORM(.training = true, .epsilon = 1e-3f)),
    CASE(BATCH_NORMALIZATION, "training, one axis", 5,
         IN(X(2, 5, 7), X(5), X(5), X(5), POSITIVE(5)), NORM(.training = true)),
    CASE(BATCH_NORMALIZATION, "training, three axes", 5,
         IN(X(2, 3, 2, 3, 2), X(3), X(3), X(3), POSITIVE(3)), NORM(.training = true)),
    CASE(BATCH_NORMALIZATION, "training, many", 5,
         IN(X(8, 20, 11, 11), X(20), X(20), X(20), POSITIVE(20)), NORM(.training = true)),
    CASE(BATCH_NORMALIZATION, "training, few channels", 5,
         IN(X(4, 3, 47, 47), X(3), X(3), X(3), POSITIVE(3)), NORM(.training = true)),
    CASE(BATCH_NORMALIZATION, "training, many rows", 5,
         IN(X(1500, 6), X(6), X(6), X(6), POSITIVE(6)), NORM(.training = true)),
    CASE(BATCH_NORMALIZATION, "inference", 5, IN(X(1, 18, 4, 4), X(18), X(18), X(18), POSITIVE(18)),
         NORM(.training = false)),
    CASE(BATCH_NORMALIZATION, "inference, rows", 5, IN(X(3, 6), X(6), X(6), X(6), POSITIVE(6)),
         NORM(.training = false)),
};
CASES(batch_norm);

static const op_case row_norm_rows[] = {
    CASE(LAYER_NORMALIZATION, "a sentence", 3, IN(X(2, 5, 64), X(64), X(64)), ROWS(.axis = -1)),
    CASE(LAYER_NORMALIZATION, "odd width, no bias", 2, IN(X(7, 37), X(37)), ROWS(.axis = 1)),
    CASE(LAYER_NORMALIZATION, "three columns", 3, IN(X(4, 3), X(3), X(3)),
         ROWS(.axis = -1, .epsilon = 1e-2f)),
    CASE(LAYER_NORMALIZATION, "two axes", 3, IN(X(3, 2, 5, 7), X(5, 7), X(5, 7)), ROWS(.axis = 2)),
    CASE(LAYER_NORMALIZATION, "everything", 3, IN(X(3, 11), X(3, 11), X(3, 11)), ROWS(.axis = 0)),
    CASE(LAYER_NORMALIZATION, "many rows", 3, IN(X(3, 700, 85), X(85), X(85)), ROWS(.axis = 2)),
    CASE(LAYER_NORMALIZATION, "wide", 3, IN(X(9, 1031), X(1031), X(1031)), ROWS(.axis = 1)),
    CASE(RMS_NORMALIZATION, "a sentence", 2, IN(X(2, 5, 64), X(64)), ROWS(.axis = -1)),
    CASE(RMS_NORMALIZATION, "odd width", 2, IN(X(7, 37), X(37)), ROWS(.axis = 1, .epsilon = 1e-3f)),
    CASE(RMS_NORMALIZATION, "two axes", 2, IN(X(3, 2, 5, 7), X(5, 7)), ROWS(.axis = -2)),
    CASE(RMS_NORMALIZATION, "many rows", 2, IN(X(2100, 85), X(85)), ROWS(.axis = 1)),
};
CASES(row_norm);
