/* See resample.h; Pillow's src/libImaging/Resample.c says what is computed. */
#include "data/pictures/resample.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISION = 32 - 8 - 2 };

/* Which old pixels make each new one, along one axis. */
typedef struct taps {
    int32_t most;                   /* weights that a new pixel has room for */
    int32_t *first, *n;             /* [pixels] */
    int32_t *weights;               /* [pixels][most] */
} taps;

static void taps_fini(taps *t)
{
    free(t->first);
    free(t->n);
    free(t->weights);
}

static double triangle(double x)
{
    x = x < 0.0 ? -x : x;
    return x < 1.0 ? 1.0 - x : 0.0;
}

static double support_of(double scale)
{
    return scale < 1.0 ? 1.0 : scale;
}

/* Of `old` pixels those that make new pixel `at`. */
static void find_ends(int32_t at, int32_t old, double scale, int32_t *ret_first, int32_t *ret_end)
{
    double center = (at + 0.5) * scale, support = support_of(scale);
    int32_t first = (int32_t)(center - support + 0.5), end = (int32_t)(center + support + 0.5);
    *ret_first = first < 0 ? 0 : first;
    *ret_end = end > old ? old : end;
}

/* New pixel `at`, whose weights are in `scratch`. */
static void find_taps(taps *t, double *scratch, int32_t i, int32_t at, int32_t old, double scale)
{
    double center = (at + 0.5) * scale, inverse = 1.0 / support_of(scale), sum = 0.0;
    int32_t first, end;
    find_ends(at, old, scale, &first, &end);
    for (int32_t k = 0; k < end - first; k++) {
        scratch[k] = triangle((k + first - center + 0.5) * inverse);
        sum += scratch[k];
    }
    for (int32_t k = 0; k < end - first; k++) {
        double weight = sum != 0.0 ? scratch[k] / sum : scratch[k];
        t->weights[(size_t)i * (size_t)t->most + (size_t)k] = (int32_t)(0.5 + weight * (1 << PRECISION));
    }
    t->first[i] = first;
    t->n[i] = end - first;
}

/* Of `n` new pixels from `begin` on, where `old` ones become `new`. */
static taps make_taps(int32_t old, int32_t new, int32_t begin, int32_t n)
{
    double scale = (double)old / new;
    taps t = {.most = (int32_t)ceil(support_of(scale)) * 2 + 1};
    t.first = xcalloc((size_t)n, sizeof *t.first);
    t.n = xcalloc((size_t)n, sizeof *t.n);
    t.weights = xcalloc((size_t)n * (size_t)t.most, sizeof *t.weights);
    double *scratch = xcalloc((size_t)t.most, sizeof *scratch);
    for (int32_t i = 0; i < n; i++)
        find_taps(&t, scratch, i, begin + i, old, scale);
    free(scratch);
    return t;
}

static unsigned char to_byte(int32_t sum)
{
    sum >>= PRECISION;
    return (unsigned char)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* A row of pixels; that of which the part begins stands at `begin`. */
static void narrow_grey(const taps *t, int32_t width, const unsigned char *in, int32_t begin, unsigned char *out)
{
    for (int32_t x = 0; x < width; x++) {
        const int32_t *w = t->weights + (size_t)x * (size_t)t->most;
        const unsigned char *p = in + (begin + t->first[x]);
        int32_t sum = 1 << (PRECISION - 1);
        for (int32_t k = 0; k < t->n[x]; k++)
            sum += p[k] * w[k];
        out[x] = to_byte(sum);
    }
}

static void narrow_colour(const taps *t, int32_t width, const unsigned char *in, int32_t begin, unsigned char *out)
{
    for (int32_t x = 0; x < width; x++) {
        const int32_t *w = t->weights + (size_t)x * (size_t)t->most;
        const unsigned char *p = in + 3 * (size_t)(begin + t->first[x]);
        int32_t red = 1 << (PRECISION - 1), green = red, blue = red;
        for (int32_t k = 0; k < t->n[x]; k++, p += 3) {
            red += p[0] * w[k];
            green += p[1] * w[k];
            blue += p[2] * w[k];
        }
        *out++ = to_byte(red);
        *out++ = to_byte(green);
        *out++ = to_byte(blue);
    }
}

/* Adds a row times its weight to the sums of a new one. */
static void add_row(const unsigned char *in, int32_t weight, size_t n, int32_t *sums)
{
    for (size_t i = 0; i < n; i++)
        sums[i] += in[i] * weight;
}

static void shorten(const taps *t, const picture_box *window, size_t row, const unsigned char *in, int32_t in_first,
                    int32_t *sums, unsigned char *out)
{
    for (int32_t y = 0; y < window->height; y++, out += row) {
        for (size_t i = 0; i < row; i++)
            sums[i] = 1 << (PRECISION - 1);
        for (int32_t k = 0; k < t->n[y]; k++)
            add_row(in + (size_t)(t->first[y] + k - in_first) * row, t->weights[y * t->most + k], row, sums);
        for (size_t i = 0; i < row; i++)
            out[i] = to_byte(sums[i]);
    }
}

static void copy_part(const picture *p, const picture_box *part, unsigned char *ret)
{
    size_t row = (size_t)part->width * (size_t)p->channels;
    for (int32_t y = 0; y < part->height; y++)
        memcpy(ret + (size_t)y * row,
               p->pixels + ((size_t)(part->y + y) * (size_t)p->width + (size_t)part->x) * (size_t)p->channels, row);
}

/* Rows first .. first + n - 1 of the part, in their new width, if that is another. */
static void narrow_rows(const picture *p, const picture_box *from, const picture_box *window, int32_t width,
                        int32_t first, int32_t n, unsigned char *ret)
{
    if (width == from->width) {
        copy_part(p, &(picture_box){from->x + window->x, from->y + first, window->width, n}, ret);
        return;
    }
    taps t = make_taps(from->width, width, window->x, window->width);
    for (int32_t y = 0; y < n; y++) {
        const unsigned char *in = p->pixels + (size_t)(from->y + first + y) * (size_t)p->width * (size_t)p->channels;
        unsigned char *out = ret + (size_t)y * (size_t)window->width * (size_t)p->channels;
        (p->channels == 1 ? narrow_grey : narrow_colour)(&t, window->width, in, from->x, out);
    }
    taps_fini(&t);
}

status picture_resample(const picture *p, const picture_box *from, int32_t width, int32_t height,
                        const picture_box *window, unsigned char *ret, error *err)
{
    size_t row = (size_t)window->width * (size_t)p->channels;
    if (height == from->height) {
        narrow_rows(p, from, window, width, window->y, window->height, ret);
        return OK;
    }
    taps t = make_taps(from->height, height, window->y, window->height);
    int32_t last = window->height - 1, first = t.first[0], n = t.first[last] + t.n[last] - first;
    void *narrowed = NULL;
    int32_t *sums = xcalloc(row, sizeof *sums);
    status st = mem_alloc((size_t)n * row, "a picture", &narrowed, err);
    if (st == OK) {
        narrow_rows(p, from, window, width, first, n, narrowed);
        shorten(&t, window, row, narrowed, first, sums, ret);
    }
    mem_free(narrowed);
    free(sums);
    taps_fini(&t);
    return st;
}

/* Along one axis: of the new pixels begin .. begin + n - 1. */
static void find_reads(int32_t old, int32_t new, int32_t begin, int32_t n, int32_t *ret_first, int32_t *ret_n)
{
    int32_t first = begin, end = begin + n, unused;
    if (old != new) {
        find_ends(begin, old, (double)old / new, &first, &unused);
        find_ends(begin + n - 1, old, (double)old / new, &unused, &end);
    }
    *ret_first = first;
    *ret_n = end - first;
}

picture_box picture_resample_reads(const picture_box *from, int32_t width, int32_t height, const picture_box *window)
{
    picture_box b;
    find_reads(from->width, width, window->x, window->width, &b.x, &b.width);
    find_reads(from->height, height, window->y, window->height, &b.y, &b.height);
    b.x += from->x;
    b.y += from->y;
    return b;
}
