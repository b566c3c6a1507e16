/* The determinant of matrices that are known. */
#include "onnx/fold/fold.h"

#include <math.h>

/* Of one matrix [n,n], which is used up: by elimination, the largest number of a column first. */
static double determinant(double *m, int64_t n)
{
    double product = 1.0;
    for (int64_t k = 0; k < n; k++) {
        int64_t largest = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(m[i * n + k]) > fabs(m[largest * n + k]))
                largest = i;
        if (m[largest * n + k] == 0.0)
            return 0.0;
        for (int64_t j = 0; largest != k && j < n; j++) {
            double swap = m[k * n + j];
            m[k * n + j] = m[largest * n + j];
            m[largest * n + j] = swap;
        }
        product *= largest == k ? m[k * n + k] : -m[k * n + k];
        for (int64_t i = k + 1; i < n; i++) {
            double share = m[i * n + k] / m[k * n + k];
            for (int64_t j = k; j < n; j++)
                m[i * n + j] -= share * m[k * n + j];
        }
    }
    return product;
}

status onnx_fold_det(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    TRY(onnx_fold_input(c, 0, &x, err));
    graph_shape s = x->shape;
    if (s.rank < 2 || s.dim[s.rank - 1] != s.dim[s.rank - 2])
        return FAIL(err, E_DATA, "its input is no square matrix");
    int64_t n = s.dim[s.rank - 1];
    s.rank -= 2;
    TRY(onnx_fold_only_result(c, x->dtype, &s, &y, err));
    double *m = arena_alloc(c->im->a, (size_t)(n * n + 1) * sizeof *m);
    for (int64_t i = 0; i < y->n; i++) {
        for (int64_t k = 0; k < n * n; k++)
            m[k] = host_get(x, i * n * n + k);
        host_set(y, i, determinant(m, n));
    }
    return OK;
}
