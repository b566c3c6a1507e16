#include "backend/cpu/lanes.h"
#include "backend/cpu/rows.h"

#include "backend/math.h"

#include <string.h>

/* What four vectors and the columns of a row's rest add up to. */
#define SUM_OF(a, b, c, d, rest)                                                                   \
    __extension__({                                                                                \
        vec16 sum_ = ((a) + (b)) + ((c) + (d)) + vec16_at(rest);                                   \
        float lane_[LANES];                                                                        \
        memcpy(lane_, &sum_, sizeof lane_);                                                        \
        lanes_sum(lane_);                                                                          \
    })

SIMD_CLONES
static float most(const float *x, int64_t n)
{
    float lane[LANES];
    for (int j = 0; j < LANES; j++)
        lane[j] = -__builtin_inff();
    int64_t whole = n / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int j = 0; j < LANES; j++)
            lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    for (int64_t i = whole; i < n; i++)
        lane[i - whole] = x[i] > lane[i - whole] ? x[i] : lane[i - whole];
    return lanes_max(lane);
}

SIMD_CLONES
static float total(const float *x, int64_t n)
{
    vec16 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    float rest[LANES] = {0};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        s0 += vec16_at(x + i);
        s1 += vec16_at(x + i + LANES);
        s2 += vec16_at(x + i + 2 * LANES);
        s3 += vec16_at(x + i + 3 * LANES);
    }
    for (; i + LANES <= n; i += LANES)
        s0 += vec16_at(x + i);
    for (int j = 0; i < n; i++, j++)
        rest[j] += x[i];
    return SUM_OF(s0, s1, s2, s3, rest);
}

SIMD_CLONES
static float dot(const float *x, const float *y, int64_t n)
{
    vec16 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    float rest[LANES] = {0};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        s0 += vec16_at(x + i) * vec16_at(y + i);
        s1 += vec16_at(x + i + LANES) * vec16_at(y + i + LANES);
        s2 += vec16_at(x + i + 2 * LANES) * vec16_at(y + i + 2 * LANES);
        s3 += vec16_at(x + i + 3 * LANES) * vec16_at(y + i + 3 * LANES);
    }
    for (; i + LANES <= n; i += LANES)
        s0 += vec16_at(x + i) * vec16_at(y + i);
    for (int j = 0; i < n; i++, j++)
        rest[j] += x[i] * y[i];
    return SUM_OF(s0, s1, s2, s3, rest);
}

SIMD_CLONES
static float squares(const float *x, float mean, int64_t n)
{
    vec16 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    float rest[LANES] = {0};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vec16 a = vec16_at(x + i) - mean, b = vec16_at(x + i + LANES) - mean;
        vec16 c = vec16_at(x + i + 2 * LANES) - mean, d = vec16_at(x + i + 3 * LANES) - mean;
        s0 += a * a;
        s1 += b * b;
        s2 += c * c;
        s3 += d * d;
    }
    for (; i + LANES <= n; i += LANES) {
        vec16 a = vec16_at(x + i) - mean;
        s0 += a * a;
    }
    for (int j = 0; i < n; i++, j++)
        rest[j] += (x[i] - mean) * (x[i] - mean);
    return SUM_OF(s0, s1, s2, s3, rest);
}

SIMD_CLONES
static void exp_minus(float *y, const float *x, float max, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = vec_exp_below(x[i] - max);
}

SIMD_CLONES
static void scale(float *x, float by, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        x[i] *= by;
}

float row_max(const float *x, int64_t n)
{
    return most(x, n);
}

float row_sum(const float *x, int64_t n)
{
    return total(x, n);
}

float row_dot(const float *x, const float *y, int64_t n)
{
    return dot(x, y, n);
}

float row_squares(const float *x, float mean, int64_t n)
{
    return squares(x, mean, n);
}

void row_exp_minus(float *y, const float *x, float max, int64_t n)
{
    exp_minus(y, x, max, n);
}

float row_exp(float *y, const float *x, float max, int64_t n)
{
    exp_minus(y, x, max, n);
    return total(y, n);
}

void row_scale(float *x, float by, int64_t n)
{
    scale(x, by, n);
}
