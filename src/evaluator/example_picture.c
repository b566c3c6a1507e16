#include "evaluator/example_picture.h"

#include "common/base/base64.h"
#include "data/png.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 96, LEAST = 4, MOST = 4096 };

/* [channels, height, width], of one channel or red, green and blue. */
static bool is_picture(const data_field *f)
{
    return f->dtype == DT_F32 && f->rank == 3 && !f->varies && (f->dim[0] == 1 || f->dim[0] == 3) &&
           f->dim[1] >= LEAST && f->dim[2] >= LEAST && f->dim[1] <= MOST && f->dim[2] <= MOST;
}

static int64_t find_field(const data_field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_picture(&fields[i]))
            return (int64_t)i;
    return -1;
}

/* The mean of a square of it, less at its edges. */
static double mean_of(const float *channel, const data_field *f, int64_t top, int64_t left, int64_t side)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t y = top; y < top + side && y < f->dim[1]; y++)
        for (int64_t x = left; x < left + side && x < f->dim[2]; x++, n++)
            sum += (double)channel[y * f->dim[2] + x];
    return sum / (double)n;
}

static unsigned char shade(double value, double low, double high)
{
    double share = high > low ? (value - low) / (high - low) : 0;
    return share > 0 ? share < 1 ? (unsigned char)lround(255 * share) : 255 : 0;
}

static void find_range(const float *values, int64_t n, double *ret_low, double *ret_high)
{
    *ret_low = INFINITY;
    *ret_high = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        *ret_low = fmin(*ret_low, (double)values[i]);
        *ret_high = fmax(*ret_high, (double)values[i]);
    }
}

static bool draw(const data_field *f, const float *values, buf *ret_png)
{
    int64_t longer = f->dim[1] > f->dim[2] ? f->dim[1] : f->dim[2], side = (longer + SIDE - 1) / SIDE;
    int64_t height = (f->dim[1] + side - 1) / side, width = (f->dim[2] + side - 1) / side;
    int64_t plane = f->dim[1] * f->dim[2];
    double low, high;
    find_range(values, f->dim[0] * plane, &low, &high);
    unsigned char *pixels = xcalloc((size_t)(height * width), 3);
    for (int64_t i = 0; i < height * width * 3; i++) {
        int64_t channel = f->dim[0] == 3 ? i % 3 : 0, at = i / 3;
        double value = mean_of(values + channel * plane, f, at / width * side, at % width * side, side);
        pixels[i] = shade(value, low, high);
    }
    png_image image = {.width = (int)width, .height = (int)height, .pixels = pixels};
    bool is_drawn = isfinite(low) && isfinite(high) && png_encode(&image, ret_png, NULL) == OK;
    free(pixels);
    return is_drawn;
}

bool example_picture(const dataset *d, int64_t example, buf *ret)
{
    size_t n;
    const data_field *fields = dataset_fields(d, &n);
    int64_t which = find_field(fields, n);
    void *values[DATA_FIELDS];
    buf png = BUF_INIT;
    if (which < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        values[i] = xmalloc(data_field_bytes(&fields[i]));
    bool is_there = dataset_read(d, example, values, NULL) == OK && draw(&fields[which], values[which], &png);
    if (is_there) {
        buf_adds(ret, "data:image/png;base64,");
        base64_write(png.data, png.size, ret);
    }
    for (size_t i = 0; i < n; i++)
        free(values[i]);
    buf_fini(&png);
    return is_there;
}
