#include "optim/muon.h"

#include "common/base/detmath.h"
#include "common/base/simd.h"
#include "optim/optim.h"

#include <string.h>

/* The polynomial a x + b x^3 + c x^5 of singular values, as the authors chose it. */
static const float a = 3.4445f, b = -4.7750f, c = 2.0315f;

enum { COLUMNS = 1024 }; /* of a product at a time */

static void transpose(const float *x, int64_t rows, int64_t columns, float *ret)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            ret[j * rows + i] = x[i * columns + j];
}

SIMD_CLONES
static void add_row(float *y, float factor, const float *x, int64_t n)
{
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++)
        y[j] += factor * x[j];
}

SIMD_CLONES
static void scale_row(float *y, float factor, const float *x, int64_t n)
{
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++)
        y[j] = factor * x[j];
}

/* y [m,n] += factor * p [m,k] q [k,n] */
static void add_product(float *y, float factor, const float *p, const float *q, int64_t m, int64_t k, int64_t n)
{
    for (int64_t from = 0; from < n; from += COLUMNS) {
        const int64_t width = n - from < COLUMNS ? n - from : COLUMNS;
        for (int64_t i = 0; i < m; i++)
            for (int64_t l = 0; l < k; l++)
                add_row(y + i * n + from, factor * p[i * k + l], q + l * n + from, width);
    }
}

/* Of x [r,n], r <= n. */
static void step(float *x, int64_t r, int64_t n, float *turned, float *next, float *square, float *sum)
{
    transpose(x, r, n, turned);
    memset(square, 0, (size_t)(r * r) * sizeof *square);
    add_product(square, 1.0f, x, turned, r, n, r);
    scale_row(sum, b, square, r * r);
    add_product(sum, c, square, square, r, r, r);
    scale_row(next, a, x, r * n);
    add_product(next, 1.0f, sum, x, r, r, n);
    memcpy(x, next, (size_t)(r * n) * sizeof *x);
}

void muon_orthogonalise(float *x, int64_t rows, int64_t columns, int64_t steps, double eps, float *room)
{
    const int64_t n = rows * columns;
    const bool lies = rows <= columns;
    const int64_t shorter = lies ? rows : columns, longer = lies ? columns : rows;
    float *flat = room, *turned = room + n, *next = room + 2 * n, *square = room + 3 * n, *sum = room + 4 * n;
    const double norm = det_sqrt(optim_square_sum(x, (size_t)n));
    if (lies)
        memcpy(flat, x, (size_t)n * sizeof *flat);
    else
        transpose(x, rows, columns, flat);
    scale_row(flat, (float)(1.0 / (norm > eps ? norm : eps)), flat, n);
    for (int64_t i = 0; i < steps; i++)
        step(flat, shorter, longer, turned, next, square, sum);
    if (lies)
        memcpy(x, flat, (size_t)n * sizeof *flat);
    else
        transpose(flat, shorter, longer, x);
}
