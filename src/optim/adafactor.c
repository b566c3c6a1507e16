#include "optim/adafactor.h"

#include "common/base/detmath.h"
#include "common/base/simd.h"

#include <math.h>
#include <string.h>

adafactor_shape adafactor_shape_of(int64_t n, int64_t rows, int64_t columns)
{
    if (rows < 1 || columns < 1 || rows + columns > rows * columns)
        return (adafactor_shape){.matrices = 1};
    return (adafactor_shape){n / (rows * columns), rows, columns};
}

SIMD_CLONES
static void divide_each(float *g, int64_t n, double keep, double eps, const float *in, float *out)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++) {
        double square = (double)g[i] * (double)g[i] + eps;
        out[i] = (float)(keep * (double)in[i] + (1.0 - keep) * square);
        g[i] = g[i] / sqrtf(out[i]);
    }
}

SIMD_CLONES
static void add_squares(double *column, const float *g, int64_t n, double eps)
{
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++)
        column[j] += (double)g[j] * (double)g[j] + eps;
}

SIMD_CLONES
static void divide_row(float *g, double by, const double *column, int64_t n)
{
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++)
        g[j] = (float)((double)g[j] * by * column[j]);
}

static double row_mean(const float *g, int64_t n, double eps)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += (double)g[j] * (double)g[j] + eps;
    return sum / (double)n;
}

/* Sums become the inverse roots of the new means, which go to `state`. */
static void close_columns(double *column, int64_t n, int64_t rows, double keep, const float *in, float *out)
{
    for (int64_t j = 0; j < n; j++) {
        out[j] = (float)(keep * (double)in[j] + (1.0 - keep) * column[j] / (double)rows);
        column[j] = 1.0 / det_sqrt((double)out[j]);
    }
}

static void divide_matrix(float *g, int64_t rows, int64_t columns, double keep, double eps, const float *in, float *out,
                          double *column)
{
    double mean = 0;
    memset(column, 0, (size_t)columns * sizeof *column);
    for (int64_t i = 0; i < rows; i++) {
        const float *row = g + i * columns;
        out[i] = (float)(keep * (double)in[i] + (1.0 - keep) * row_mean(row, columns, eps));
        add_squares(column, row, columns, eps);
        mean += (double)out[i] / (double)rows;
    }
    close_columns(column, columns, rows, keep, in + rows, out + rows);
    for (int64_t i = 0; i < rows; i++)
        divide_row(g + i * columns, 1.0 / det_sqrt((double)out[i] / mean), column, columns);
    memset(out + rows + columns, 0, (size_t)(rows * columns - rows - columns) * sizeof *out);
}

void adafactor_divide(float *g, int64_t n, adafactor_shape s, double keep, double eps, const float *state_in,
                      float *state_out, float *room)
{
    if (!s.rows) {
        divide_each(g, n, keep, eps, state_in, state_out);
        return;
    }
    for (int64_t m = 0; m < s.matrices; m++) {
        const int64_t at = m * s.rows * s.columns;
        divide_matrix(g + at, s.rows, s.columns, keep, eps, state_in + at, state_out + at, (double *)(void *)room);
    }
}
