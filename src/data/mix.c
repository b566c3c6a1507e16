#include "data/mix.h"

#include "common/base/detmath.h"
#include "data/augment.h"

#include <string.h>

/* Draws of a batch. Their numbers are part of the result and never change. */
static const uint64_t DRAW_WHICH = 0, DRAW_X = 1, DRAW_Y = 2, DRAW_OWN = 1ull << 32, DRAW_OTHER = 2ull << 32;

/* --- what is asked for --- */

static double alpha_of(const config *section, const char *key)
{
    return section && config_has(section, key) ? config_f64(config_section(section, key), "alpha") : 0.0;
}

mix mix_read(const config *section)
{
    return (mix){.mixup = alpha_of(section, "mixup"), .cutmix = alpha_of(section, "cutmix")};
}

bool mix_is_on(const mix *m)
{
    return m->mixup > 0.0 || m->cutmix > 0.0;
}

bool mix_works_on_bytes(const mix *m)
{
    return m->mixup == 0.0;
}

static const char *key_of(const mix *m)
{
    return m->mixup > 0.0 ? "mixup" : "cutmix";
}

/* An image, which can be mixed with `first`, the first one. */
static status check_image(const mix *m, const char *path, const data_field *f, const data_field *first, error *err)
{
    if (f->dtype == DT_U8 && !f->bytes.channels && m->mixup > 0.0)
        return FAIL(err, E_CONFIG, "%s.mixup: '%s' is uint8, and a mixture of two bytes is none; cutmix takes it", path,
                    f->name);
    if (f->dim[1] != first->dim[1] || f->dim[2] != first->dim[2])
        return FAIL(err, E_CONFIG, "%s.%s: '%s' and '%s' are of different sizes; images of one size are mixed", path,
                    key_of(m), first->name, f->name);
    return OK;
}

status mix_check(const config *section, const data_field *fields, size_t n, error *err)
{
    const mix m = mix_read(section);
    const char *path = section ? config_path(section) : "", *key = key_of(&m);
    const data_field *first = NULL, *other = NULL;
    bool has_label = false;
    if (!mix_is_on(&m))
        return OK;
    for (size_t i = 0; i < n; i++) {
        const data_field *f = &fields[i];
        bool is_label = mix_is_label(&m, f), is_image = augment_takes(f);
        has_label = has_label || is_label;
        first = first || !is_image ? first : f;
        other = other || is_image || is_label ? other : f;
        if (is_image)
            TRY(check_image(&m, path, f, first, err));
    }
    if (!first)
        return FAIL(err, E_CONFIG, "%s.%s: the data have no images, fields [C,H,W] of float32 or bytes", path, key);
    if (!has_label)
        return FAIL(err, E_CONFIG, "%s.%s: the data have no label of classes, int64 and one an example", path, key);
    return other ? FAIL(err, E_CONFIG, "%s.%s: '%s' is neither an image nor a label of classes, and would stay that of "
                                       "one example where two are mixed; use data without it", path, key, other->name)
                 : OK;
}

/* --- labels --- */

bool mix_is_label(const mix *m, const data_field *f)
{
    return mix_is_on(m) && f->dtype == DT_I64 && f->rank == 0 && f->classes > 0;
}

void mix_fields(const mix *m, data_field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (mix_is_label(m, &fields[i])) {
            fields[i].dtype = DT_F32;
            fields[i].rank = 1;
            fields[i].dim[0] = fields[i].classes;
            fields[i].classes = 0;
        }
}

bool mix_label(const data_field *f, int64_t label, float *ret)
{
    if (label < 0 || label >= f->dim[0])
        return false;
    memset(ret, 0, (size_t)f->dim[0] * sizeof *ret);
    ret[label] = 1.0f;
    return true;
}

/* --- how much --- */

/* A block of random words has four draws: no two numbers of one share are made of the same word. */
enum { DRAWS_A_BLOCK = 4, DRAW_ACCEPT = 2 /* behind the two of a normal */ };

/* The logarithm of a number drawn from Gamma(a): Marsaglia and Tsang 2000, for a < 1 that of a + 1 times U^(1/a). U has
 * the first block, each try the next one. */
static double log_gamma_draw(const rng *draws, uint64_t draw, double a)
{
    double share = 0.0, d = (a < 1.0 ? a + 1.0 : a) - 1.0 / 3.0, c = 1.0 / det_sqrt(9.0 * d);
    if (a < 1.0)
        share = det_log(1.0 - (double)rng_uniform(draws, draw)) / a;
    for (;;) {
        draw += DRAWS_A_BLOCK;
        double x = (double)rng_normal(draws, draw), root = 1.0 + c * x, v = root * root * root;
        double u = 1.0 - (double)rng_uniform(draws, draw + DRAW_ACCEPT);
        if (root > 0.0 && det_log(u) < 0.5 * x * x + d - d * v + d * det_log(v))
            return det_log(d * v) + share;
    }
}

/* From Beta(alpha, alpha): X / (X + Y) of two numbers of Gamma(alpha). */
static double draw_lam(const rng *draws, double alpha)
{
    double own = log_gamma_draw(draws, DRAW_OWN, alpha), other = log_gamma_draw(draws, DRAW_OTHER, alpha);
    return 1.0 / (1.0 + det_exp(other - own));
}

/* The rectangle around a pixel that is drawn, cut off at the image's rim. */
static void draw_rectangle(const rng *draws, int32_t width, int32_t height, mix_draw *d)
{
    double half = 0.5 * det_sqrt(1.0 - d->lam);
    int32_t x = (int32_t)rng_below(draws, DRAW_X, (uint64_t)width), half_width = (int32_t)(half * width);
    int32_t y = (int32_t)rng_below(draws, DRAW_Y, (uint64_t)height), half_height = (int32_t)(half * height);
    int32_t right = x + half_width < width ? x + half_width : width;
    int32_t bottom = y + half_height < height ? y + half_height : height;
    d->x = x > half_width ? x - half_width : 0;
    d->y = y > half_height ? y - half_height : 0;
    d->width = right - d->x;
    d->height = bottom - d->y;
    d->lam = 1.0 - (double)d->width * d->height / ((double)width * height);
}

mix_draw mix_draw_of(const mix *m, uint64_t seed, int64_t batch_id, int32_t width, int32_t height)
{
    rng draws = rng_make(seed, RNG_MIX, (uint64_t)batch_id);
    bool both = m->mixup > 0.0 && m->cutmix > 0.0;
    mix_draw d = {.cuts = both ? rng_below(&draws, DRAW_WHICH, 2) == 1 : m->cutmix > 0.0};
    d.lam = draw_lam(&draws, d.cuts ? m->cutmix : m->mixup);
    if (d.cuts)
        draw_rectangle(&draws, width, height, &d);
    return d;
}

/* --- mixing --- */

/* own becomes lam own + (1 - lam) other */
static void blend(double lam, float *own, const float *other, size_t n)
{
    float share = (float)lam, rest = (float)(1.0 - lam);
    for (size_t i = 0; i < n; i++)
        own[i] = other[i] * rest + own[i] * share;
}

static void cut(const mix_draw *d, const data_field *f, char *own, const char *other)
{
    size_t size = dtype_bytes(f->dtype), row = (size_t)f->dim[2] * size, left = (size_t)d->x * size;
    for (size_t c = 0; c < (size_t)f->dim[0]; c++)
        for (size_t y = (size_t)d->y; y < (size_t)(d->y + d->height); y++) {
            size_t at = (c * (size_t)f->dim[1] + y) * row + left;
            memcpy(own + at, other + at, (size_t)d->width * size);
        }
}

static void mix_two(const mix_draw *d, bool cuts, const data_field *f, char *own, const char *other)
{
    if (cuts)
        cut(d, f, own, other);
    else
        blend(d->lam, (float *)(void *)own, (const float *)(const void *)other, (size_t)data_field_elements(f));
}

/* From the last on: whose turn it is has not changed the one before. */
static void mix_all(const mix_draw *d, bool cuts, const data_field *f, int64_t n, char *batch, char *room)
{
    size_t bytes = data_field_bytes(f);
    if (n < 2)
        return;
    memcpy(room, batch + (size_t)(n - 1) * bytes, bytes);
    for (size_t i = (size_t)n - 1; i > 0; i--)
        mix_two(d, cuts, f, batch + i * bytes, batch + (i - 1) * bytes);
    mix_two(d, cuts, f, batch, room);
}

void mix_images(const mix_draw *d, const data_field *f, int64_t n, void *batch, void *room)
{
    mix_all(d, d->cuts, f, n, batch, room);
}

void mix_note(const mix_draw *d, int64_t n, finish_draw *draws)
{
    for (int64_t i = 0; n > 1 && i < n; i++) {
        draws[i].mixing = d->cuts ? FINISH_CUT : FINISH_BLENDED;
        draws[i].share = (float)d->lam;
        draws[i].rest = (float)(1.0 - d->lam);
        draws[i].cut = (finish_box){d->x, d->y, d->width, d->height};
    }
}

void mix_labels(const mix_draw *d, const data_field *f, int64_t n, void *batch, void *room)
{
    mix_all(d, false, f, n, batch, room);
}
