#include "backend/cpu/planes.h"

#include "backend/cpu/lanes.h"

#include <string.h>

bool planes_of(const shim_layout *l, planes *ret)
{
    shim_channels c;
    if (!shim_layout_channels(l, &c) || LANES % c.block != 0)
        return false;
    *ret = (planes){
        .batch = c.batch,
        .channels = c.channels,
        .blocks = (c.channels + c.block - 1) / c.block,
        .block = c.block,
        .run = c.spatial * c.block,
    };
    ret->padded = ret->blocks * ret->block;
    return true;
}

static void repeat(const float *coefficients, int64_t block, float *ret)
{
    for (int64_t j = 0; j < LANES; j++)
        ret[j] = coefficients[j % block];
}

/* Adds the columns of a piece to the sums of their channels. */
static void add_lanes(float *lane, int64_t block, double *sum)
{
    for (int64_t half = LANES / 2; half >= block; half /= 2)
        for (int64_t j = 0; j < half; j++)
            lane[j] += lane[j + half];
    for (int64_t j = 0; j < block; j++)
        sum[j] += (double)lane[j];
}

SIMD_CLONES
static void piece_sum(const float *x, int64_t n, float *lane)
{
    vec16 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        s0 += vec16_at(x + i);
        s1 += vec16_at(x + i + LANES);
        s2 += vec16_at(x + i + 2 * LANES);
        s3 += vec16_at(x + i + 3 * LANES);
    }
    for (; i + LANES <= n; i += LANES)
        s0 += vec16_at(x + i);
    s0 = (s0 + s1) + (s2 + s3);
    memcpy(lane, &s0, sizeof s0);
    for (int j = 0; i < n; i++, j++)
        lane[j] += x[i];
}

SIMD_CLONES
static void piece_sum_squares(const float *x, const float *mean, int64_t n, float *lane)
{
    vec16 m = vec16_at(mean), s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vec16 a = vec16_at(x + i) - m, b = vec16_at(x + i + LANES) - m;
        vec16 c = vec16_at(x + i + 2 * LANES) - m, d = vec16_at(x + i + 3 * LANES) - m;
        s0 += a * a;
        s1 += b * b;
        s2 += c * c;
        s3 += d * d;
    }
    for (; i + LANES <= n; i += LANES) {
        vec16 a = vec16_at(x + i) - m;
        s0 += a * a;
    }
    s0 = (s0 + s1) + (s2 + s3);
    memcpy(lane, &s0, sizeof s0);
    for (int j = 0; i < n; i++, j++)
        lane[j] += (x[i] - mean[j]) * (x[i] - mean[j]);
}

SIMD_CLONES
static void piece_sum_products(const float *dy, const float *x, const float *mean, int64_t n,
                               float *lane_dy, float *lane_product)
{
    vec16 m = vec16_at(mean), s0 = {0}, s1 = {0}, p0 = {0}, p1 = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        vec16 a = vec16_at(dy + i), b = vec16_at(dy + i + LANES);
        s0 += a;
        s1 += b;
        p0 += a * (vec16_at(x + i) - m);
        p1 += b * (vec16_at(x + i + LANES) - m);
    }
    for (; i + LANES <= n; i += LANES) {
        vec16 a = vec16_at(dy + i);
        s0 += a;
        p0 += a * (vec16_at(x + i) - m);
    }
    s0 += s1;
    p0 += p1;
    memcpy(lane_dy, &s0, sizeof s0);
    memcpy(lane_product, &p0, sizeof p0);
    for (int j = 0; i < n; i++, j++) {
        lane_dy[j] += dy[i];
        lane_product[j] += dy[i] * (x[i] - mean[j]);
    }
}

static int64_t piece_at(int64_t n, int64_t at)
{
    return n - at < PLANES_PIECE ? n - at : PLANES_PIECE;
}

void planes_sum(const float *x, int64_t n, int64_t block, double *ret)
{
    float lane[LANES];
    memset(ret, 0, (size_t)block * sizeof *ret);
    for (int64_t at = 0; at < n; at += PLANES_PIECE) {
        piece_sum(x + at, piece_at(n, at), lane);
        add_lanes(lane, block, ret);
    }
}

void planes_sum_squares(const float *x, const float *mean, int64_t n, int64_t block, double *ret)
{
    float lane[LANES], means[LANES];
    repeat(mean, block, means);
    memset(ret, 0, (size_t)block * sizeof *ret);
    for (int64_t at = 0; at < n; at += PLANES_PIECE) {
        piece_sum_squares(x + at, means, piece_at(n, at), lane);
        add_lanes(lane, block, ret);
    }
}

void planes_sum_products(const float *dy, const float *x, const float *mean, int64_t n,
                         int64_t block, double *ret_dy, double *ret_product)
{
    float lane_dy[LANES], lane_product[LANES], means[LANES];
    repeat(mean, block, means);
    memset(ret_dy, 0, (size_t)block * sizeof *ret_dy);
    memset(ret_product, 0, (size_t)block * sizeof *ret_product);
    for (int64_t at = 0; at < n; at += PLANES_PIECE) {
        piece_sum_products(dy + at, x + at, means, piece_at(n, at), lane_dy, lane_product);
        add_lanes(lane_dy, block, ret_dy);
        add_lanes(lane_product, block, ret_product);
    }
}

SIMD_CLONES
static void affine(float *y, const float *x, const float *a, const float *b, int64_t n)
{
    vec16 va = vec16_at(a), vb = vec16_at(b);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec16_at(y + i) = vec16_at(x + i) * va + vb;
    for (int j = 0; i < n; i++, j++)
        y[i] = x[i] * a[j] + b[j];
}

void planes_affine(float *y, const float *x, const float *a, const float *b, int64_t n,
                   int64_t block)
{
    float as[LANES], bs[LANES];
    repeat(a, block, as);
    repeat(b, block, bs);
    affine(y, x, as, bs, n);
}

SIMD_CLONES
static void affine_2(float *dx, const float *dy, const float *x, const float *a, const float *b,
                     const float *c, int64_t n)
{
    vec16 va = vec16_at(a), vb = vec16_at(b), vc = vec16_at(c);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec16_at(dx + i) = vec16_at(dy + i) * va + (vec16_at(x + i) * vb + vc);
    for (int j = 0; i < n; i++, j++)
        dx[i] = dy[i] * a[j] + (x[i] * b[j] + c[j]);
}

void planes_affine_2(float *dx, const float *dy, const float *x, const float *a, const float *b,
                     const float *c, int64_t n, int64_t block)
{
    float as[LANES], bs[LANES], cs[LANES];
    repeat(a, block, as);
    repeat(b, block, bs);
    repeat(c, block, cs);
    affine_2(dx, dy, x, as, bs, cs, n);
}
