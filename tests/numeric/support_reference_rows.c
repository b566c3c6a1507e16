/* The reference of operators that look at rows: normalisation. */
#include "numeric/support_reference_ops.h"

#include <math.h>

static void row_norm(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr,
                     bool centred)
{
    const row_norm_attr *a = attr;
    int64_t n = in[1].n, rows = in[0].n / n;
    double epsilon = a->epsilon == 0 ? 1e-5 : (double)a->epsilon;
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

void ref_layer_norm(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    row_norm(in, n_in, out, attr, true);
}

void ref_rms_norm(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    row_norm(in, n_in, out, attr, false);
}
