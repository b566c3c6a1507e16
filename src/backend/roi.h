/*
 * RoiAlign (He and others, Mask R-CNN, 2017): where the samples of a region's bins lie on a plane and
 * what they weigh, in one arithmetic and one order of sums for all backends. Pure functions.
 */
#ifndef TEQUIO_BACKEND_ROI_H
#define TEQUIO_BACKEND_ROI_H

#include "common/base/inline.h"

#include <stdbool.h>
#include <stdint.h>

enum { ROI_CORNERS = 4 };

typedef struct roi_pool {
    int64_t images, channels, height, width; /* of x */
    int64_t regions, rows, columns;          /* of y, [regions, channels, rows, columns] */
    int64_t ratio;                           /* samples of a bin along an axis; 0: one a pixel */
    float scale;                             /* from a region's coordinates to pixels */
    bool half_pixel;                         /* a pixel's middle is at 0.5, not 0 */
    bool largest;                            /* of the samples' corners, instead of their mean */
} roi_pool;

/* The bins of a region along one axis. */
typedef struct roi_bins {
    float begin, length; /* of the first bin, in pixels */
    int64_t samples;     /* of a bin */
} roi_bins;

/* Pixels that a sample lies between: their positions in the plane, and weights; 0 outside. */
typedef struct roi_sample {
    int64_t at[ROI_CORNERS];
    float weight[ROI_CORNERS];
} roi_sample;

/* A region many times as long as the plane is sampled no finer than its pixels, twice over. */
INLINE int64_t roi_samples(float length, int64_t size)
{
    float most = (float)(2 * size + 2), n = length < most ? length : most;
    int64_t whole = n > 0.0f ? (int64_t)n : 0;
    return n > (float)whole ? whole + 1 : whole;
}

INLINE roi_bins roi_bins_of(const roi_pool *s, float from, float to, int64_t n, int64_t size)
{
    float shift = s->half_pixel ? 0.5f : 0.0f, begin = from * s->scale - shift;
    float length = to * s->scale - shift - begin;
    if (!s->half_pixel && !(length > 1.0f))
        length = 1.0f;
    roi_bins b = {begin, length / (float)n, s->ratio};
    if (s->ratio == 0)
        b.samples = roi_samples(b.length, size);
    return b;
}

/* Where sample k of bin i lies. */
INLINE float roi_position(const roi_bins *b, int64_t i, int64_t k)
{
    return b->begin + (float)i * b->length + ((float)k + 0.5f) * b->length / (float)b->samples;
}

/* The two pixels along an axis, and how far behind the first one; false: outside. */
INLINE bool roi_between(float v, int64_t size, int64_t ret_at[2], float *ret_rest)
{
    if (!(v >= -1.0f && v <= (float)size))
        return false;
    v = v > 0.0f ? v : 0.0f;
    int64_t low = (int64_t)v;
    bool last = low >= size - 1;
    ret_at[0] = last ? size - 1 : low;
    ret_at[1] = last ? size - 1 : low + 1;
    *ret_rest = last ? 0.0f : v - (float)low;
    return true;
}

INLINE roi_sample roi_sample_at(const roi_pool *s, float y, float x)
{
    roi_sample r = {{0, 0, 0, 0}, {0.0f, 0.0f, 0.0f, 0.0f}};
    int64_t row[2], column[2];
    float down, right;
    if (!roi_between(y, s->height, row, &down) || !roi_between(x, s->width, column, &right))
        return r;
    for (int k = 0; k < ROI_CORNERS; k++) {
        r.at[k] = row[k / 2] * s->width + column[k % 2];
        r.weight[k] = (k / 2 ? down : 1.0f - down) * (k % 2 ? right : 1.0f - right);
    }
    return r;
}

/* Bin (i, j) of a region, by samples from the top and there from the left. */
INLINE float roi_value(const roi_pool *s, const roi_bins *down, const roi_bins *across, int64_t i,
                       int64_t j, const float *plane)
{
    float sum = 0.0f, most = 0.0f;
    bool any = false;
    for (int64_t iy = 0; iy < down->samples; iy++)
        for (int64_t ix = 0; ix < across->samples; ix++) {
            roi_sample r = roi_sample_at(s, roi_position(down, i, iy), roi_position(across, j, ix));
            for (int k = 0; k < ROI_CORNERS; k++) {
                float term = r.weight[k] * plane[r.at[k]];
                sum += term;
                most = !any || term > most || term != term ? term : most;
                any = true;
            }
        }
    int64_t n = down->samples * across->samples;
    return s->largest ? most : sum / (float)(n > 0 ? n : 1);
}

/* The pixel that the largest of bin (i, j) is of, the first of several, and its weight; a weight of
 * 0: none. */
INLINE int64_t roi_winner(const roi_pool *s, const roi_bins *down, const roi_bins *across, int64_t i,
                          int64_t j, const float *plane, float *ret_weight)
{
    float most = 0.0f;
    int64_t at = -1;
    *ret_weight = 0.0f;
    for (int64_t iy = 0; iy < down->samples; iy++)
        for (int64_t ix = 0; ix < across->samples; ix++) {
            roi_sample r = roi_sample_at(s, roi_position(down, i, iy), roi_position(across, j, ix));
            for (int k = 0; k < ROI_CORNERS; k++) {
                float term = r.weight[k] * plane[r.at[k]];
                if (at >= 0 && !(term > most))
                    continue;
                most = term;
                at = r.at[k];
                *ret_weight = r.weight[k];
            }
        }
    return at;
}

/* Adds dy [rows, columns] of one region to the pixels first .. end-1 of a plane's gradient. */
INLINE void roi_spread(const roi_pool *s, const roi_bins *down, const roi_bins *across,
                       const float *dy, int64_t first, int64_t end, float *plane)
{
    float n = (float)(down->samples * across->samples);
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t iy = 0; iy < down->samples; iy++) {
            int64_t row[2];
            float rest, y = roi_position(down, i, iy);
            if (!roi_between(y, s->height, row, &rest) || (row[1] + 1) * s->width <= first ||
                row[0] * s->width >= end)
                continue;
            for (int64_t j = 0; j < s->columns; j++)
                for (int64_t ix = 0; ix < across->samples; ix++) {
                    roi_sample r = roi_sample_at(s, y, roi_position(across, j, ix));
                    for (int k = 0; k < ROI_CORNERS; k++)
                        if (r.weight[k] != 0.0f && r.at[k] >= first && r.at[k] < end)
                            plane[r.at[k]] += dy[i * s->columns + j] * r.weight[k] / n;
                }
        }
}

/* The same of the largest; x is the plane that was read. */
INLINE void roi_spread_largest(const roi_pool *s, const roi_bins *down, const roi_bins *across,
                               const float *dy, const float *x, int64_t first, int64_t end,
                               float *plane)
{
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t j = 0; j < s->columns; j++) {
            float weight;
            int64_t at = roi_winner(s, down, across, i, j, x, &weight);
            if (weight != 0.0f && at >= first && at < end)
                plane[at] += dy[i * s->columns + j] * weight;
        }
}

#endif
