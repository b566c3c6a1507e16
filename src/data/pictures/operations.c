/* See operations.h; Pillow's Geometry.c, Filter.c and ImageOps.py say what is computed. */
#include "data/pictures/operations.h"

#include "common/base/detmath.h"
#include "data/pictures/jitter.h"

#include <string.h>

enum { VALUES = 256, FIXED = 1 << 16 };

static size_t plane_of(const picture_planes *p)
{
    return (size_t)p->width * (size_t)p->height;
}

/* --- where pixels come from --- */

/* A pixel's place in the old picture: x = xx * x + xy * y + x0, and likewise y. */
typedef struct affine {
    double xx, xy, x0, yx, yy, y0;
} affine;

static int32_t fixed_of(double v)
{
    double scaled = v * FIXED + 0.5;
    int32_t whole = (int32_t)scaled;
    return whole - (scaled < whole);
}

static void move_plane(const affine *m, const unsigned char *in, int32_t width, int32_t height, unsigned char *out)
{
    int32_t row_x = fixed_of(m->x0 + m->xx * 0.5 + m->xy * 0.5), step_x = fixed_of(m->xx);
    int32_t row_y = fixed_of(m->y0 + m->yx * 0.5 + m->yy * 0.5), step_y = fixed_of(m->yx);
    for (int32_t y = 0; y < height; y++) {
        int32_t from_x = row_x, from_y = row_y;
        for (int32_t x = 0; x < width; x++, from_x += step_x, from_y += step_y)
            if (from_x >= 0 && from_x / FIXED < width && from_y >= 0 && from_y / FIXED < height)
                out[(size_t)y * (size_t)width + (size_t)x] =
                    in[(size_t)(from_y / FIXED) * (size_t)width + (size_t)(from_x / FIXED)];
        row_x += fixed_of(m->xy);
        row_y += fixed_of(m->yy);
    }
}

static void move_pixels(const affine *m, unsigned char fill, const picture_planes *p, unsigned char *room)
{
    size_t n = plane_of(p), all = n * (size_t)p->channels;
    memcpy(room, p->at, all);
    memset(p->at, fill, all);
    for (size_t at = 0; at < all; at += n)
        move_plane(m, room + at, p->width, p->height, p->at + at);
}

/* Against the clock, around the middle. */
static affine rotation(double degrees, const picture_planes *p)
{
    double cosine = det_cos_pi(degrees / 180.0), sine = det_cos_pi(degrees / 180.0 - 0.5);
    double x = p->width / 2.0, y = p->height / 2.0;
    return (affine){cosine, -sine, x - cosine * x + sine * y, sine, cosine, y - sine * x - cosine * y};
}

/* --- sharpness --- */

/* Pillow's SMOOTH: a pixel counts 5, each of its neighbours 1. At the rim there is none. */
static int smooth_at(const unsigned char *at, int32_t width)
{
    int sum = 4 * at[0];
    for (int32_t y = -1; y <= 1; y++)
        for (int32_t x = -1; x <= 1; x++)
            sum += at[(ptrdiff_t)y * width + x];
    return (2 * sum + 13) / 26;
}

static void sharpen(const picture_planes *p, float factor, unsigned char *room)
{
    size_t n = plane_of(p), width = (size_t)p->width;
    memcpy(room, p->at, n * (size_t)p->channels);
    for (size_t c = 0; c < (size_t)p->channels; c++)
        for (size_t y = 1; y + 1 < (size_t)p->height; y++)
            for (size_t x = 1; x + 1 < width; x++) {
                size_t at = c * n + y * width + x;
                p->at[at] = jitter_blend(smooth_at(room + at, p->width), room[at], factor);
            }
}

/* --- values by a table --- */

static void look_up(unsigned char *plane, size_t n, const unsigned char table[VALUES])
{
    for (size_t i = 0; i < n; i++)
        plane[i] = table[plane[i]];
}

static unsigned char posterized(int value, double bits)
{
    return (unsigned char)(value & ~((1 << (8 - (int)bits)) - 1));
}

static unsigned char solarized(int value, double from)
{
    return (unsigned char)(value < from ? value : VALUES - 1 - value);
}

static void look_up_all(const picture_planes *p, unsigned char (*of)(int value, double magnitude), double magnitude)
{
    unsigned char table[VALUES];
    for (int i = 0; i < VALUES; i++)
        table[i] = of(i, magnitude);
    look_up(p->at, plane_of(p) * (size_t)p->channels, table);
}

/* The darkest value becomes black, the lightest white; of one value alone nothing. */
static void stretch_table(const size_t counts[VALUES], unsigned char ret[VALUES])
{
    int low = 0, high = VALUES - 1;
    while (counts[low] == 0)
        low++;
    while (counts[high] == 0)
        high--;
    double scale = high > low ? 255.0 / (high - low) : 1.0, offset = high > low ? -low * scale : 0.0;
    for (int i = 0; i < VALUES; i++) {
        double value = i * scale + offset;
        ret[i] = (unsigned char)(value < 0.0 ? 0.0 : value > 255.0 ? 255.0 : value);
    }
}

/* Each value about as often as any other, the last one aside. */
static void equalize_table(const size_t counts[VALUES], unsigned char ret[VALUES])
{
    size_t all = 0, last = 0;
    for (int i = 0; i < VALUES; i++) {
        all += counts[i];
        last = counts[i] ? counts[i] : last;
    }
    size_t step = (all - last) / (VALUES - 1), sum = step / 2;
    for (int i = 0; i < VALUES; sum += counts[i], i++) {
        size_t value = step ? sum / step : (size_t)i;
        ret[i] = (unsigned char)(value < VALUES ? value : VALUES - 1);
    }
}

static void look_up_by_counts(const picture_planes *p,
                              void (*make)(const size_t counts[VALUES], unsigned char ret[VALUES]))
{
    size_t n = plane_of(p);
    for (size_t c = 0; c < (size_t)p->channels; c++) {
        size_t counts[VALUES] = {0};
        unsigned char table[VALUES];
        for (size_t i = 0; i < n; i++)
            counts[p->at[c * n + i]]++;
        make(counts, table);
        look_up(p->at + c * n, n, table);
    }
}

/* --- all of them --- */

void picture_operate(picture_operation op, double magnitude, unsigned char fill, const picture_planes *p,
                     unsigned char *room)
{
    const jitter_picture colours = {p->at, p->channels, plane_of(p)};
    double pixels = (double)(int32_t)magnitude;
    float factor = (float)(1.0 + magnitude);
    affine m = {.xx = 1.0, .yy = 1.0};
    switch (op) {
    case PICTURE_SHEAR_X:
        m.xy = magnitude;
        break;
    case PICTURE_SHEAR_Y:
        m.yx = magnitude;
        break;
    case PICTURE_TRANSLATE_X:
        m.x0 = -pixels;
        break;
    case PICTURE_TRANSLATE_Y:
        m.y0 = -pixels;
        break;
    case PICTURE_ROTATE:
        m = rotation(magnitude, p);
        break;
    case PICTURE_BRIGHTNESS:
        jitter_brightness(&colours, factor);
        return;
    case PICTURE_COLOR:
        jitter_saturation(&colours, factor);
        return;
    case PICTURE_CONTRAST:
        jitter_contrast(&colours, factor);
        return;
    case PICTURE_SHARPNESS:
        sharpen(p, factor, room);
        return;
    case PICTURE_POSTERIZE:
        look_up_all(p, posterized, magnitude);
        return;
    case PICTURE_SOLARIZE:
        look_up_all(p, solarized, magnitude);
        return;
    case PICTURE_AUTO_CONTRAST:
        look_up_by_counts(p, stretch_table);
        return;
    case PICTURE_EQUALIZE:
        look_up_by_counts(p, equalize_table);
        return;
    case PICTURE_IDENTITY:
    case PICTURE_OPERATIONS:
        return;
    }
    move_pixels(&m, fill, p, room);
}
