/* See augment.h. */
#include "data/augment.h"

#include "common/base/alloc.h"

#include <string.h>

/* Draws of one example. Their numbers are part of the result and never change. */
enum { DRAW_X, DRAW_Y, DRAW_FLIP, DRAWS = 4 };

typedef struct motion {
    int64_t dx, dy;
    bool flip;
} motion;

augment augment_read(const config *section)
{
    augment a = {.changes = picture_changes_read(section)};
    if (section) {
        a.shift = config_int(section, "shift");
        a.flip = config_bool(section, "flip");
    }
    return a;
}

bool augment_is_on(const augment *a)
{
    return a->shift > 0 || a->flip;
}

bool augment_takes(const data_field *f)
{
    return (f->dtype == DT_F32 || f->dtype == DT_U8) && f->rank == 3;
}

bool augment_moves(const data_field *f)
{
    return (f->dtype == DT_F32 || f->dtype == DT_U8) && (f->rank == 3 || f->rank == 4);
}

bool augment_works_on_bytes(const augment *a, const data_field *f)
{
    return (a->shift == 0 && !a->changes.erases) || f->bytes.background >= 0 || !augment_moves(f);
}

/* --- what is asked for, and is there --- */

static bool is_bytes(const data_field *f)
{
    return f->bytes.channels || f->dtype == DT_U8;
}

bool augment_is_picture(const data_field *f)
{
    return augment_takes(f) && is_bytes(f) && (f->dim[0] == 1 || f->dim[0] == PICTURE_CHANNELS);
}

/* Of videos only a reader that views their frames crops them, and nothing is erased. */
static status check_videos(const config *section, const augment *a, const data_field *fields, size_t n, bool has_images,
                           error *err)
{
    for (size_t i = 0; i < n; i++) {
        const data_field *f = &fields[i];
        if (!augment_moves(f) || augment_takes(f))
            continue;
        if (a->changes.pads && !f->is_viewed)
            return FAIL(err, E_CONFIG, "%s.random_crop: '%s' is a video that is not read from files of frames, which "
                                       "it does not change; shift moves it", config_path(section), f->name);
        if (a->changes.erases && !has_images)
            return FAIL(err, E_CONFIG, "%s.random_erasing: is of images, fields [C,H,W], and '%s' is a video; leave it "
                                       "out", config_path(section), f->name);
    }
    return OK;
}

status augment_check(const config *section, const data_field *fields, size_t n, error *err)
{
    static const char *const of_pictures[] = {"color_jitter", "rand_augment", "trivial_augment_wide"};
    augment a = augment_read(section);
    bool has_images = false, has_pictures = false, has_moved = false;
    for (size_t i = 0; i < n; i++) {
        has_images = has_images || augment_takes(&fields[i]);
        has_moved = has_moved || augment_moves(&fields[i]);
        has_pictures = has_pictures || augment_is_picture(&fields[i]);
    }
    for (size_t i = 0; section && i < COUNT_OF(of_pictures); i++)
        if (config_has(section, of_pictures[i]) && !has_pictures)
            return FAIL(err, E_CONFIG, "%s.%s: the data have no pictures, fields [1,H,W] or [3,H,W] whose values are "
                                       "bytes", config_path(section), of_pictures[i]);
    TRY(check_videos(section, &a, fields, n, has_images, err));
    bool asks = augment_is_on(&a) || augment_paints(&a) || a.changes.erases;
    return has_moved || !asks ? OK
                              : FAIL(err, E_CONFIG, "%s: the data have no images, fields [C,H,W] of float32 or bytes",
                                     config_path(section));
}

/* --- while pixels are bytes --- */

bool augment_paints(const augment *a)
{
    return a->changes.pads || picture_changes_paint(&a->changes);
}

size_t augment_room(const augment *a, const data_field *f)
{
    return picture_changes_paint(&a->changes) && augment_is_picture(f) ? (size_t)data_field_elements(f) : 0;
}

/* What is shown of an image, in its own size: from there on, which may be outside. */
typedef struct window {
    int64_t x, y;
} window;

/* The row `y` of a window of a plane, in its place. */
#define CROP(T, name)                                                                              \
    static void name##_row(const window *w, int64_t y, T *plane, int64_t width, int64_t height, T fill) \
    {                                                                                              \
        int64_t from = y + w->y, left = w->x < 0 ? -w->x : 0, n = w->x < 0 ? width + w->x : width - w->x; \
        T *out = plane + y * width;                                                                \
        n = from < 0 || from >= height || n < 0 ? 0 : n;                                           \
        left = left < width ? left : width;                                                        \
        if (n > 0)                                                                                 \
            memmove(out + left, plane + from * width + (w->x < 0 ? 0 : w->x), (size_t)n * sizeof(T)); \
        for (int64_t x = 0; x < left; x++)                                                         \
            out[x] = fill;                                                                         \
        for (int64_t x = left + n; x < width; x++)                                                 \
            out[x] = fill;                                                                         \
    }                                                                                              \
    /* Rows in the order in which none is written before it was read. */                           \
    static void name(const window *w, const data_field *f, T *image, T fill)                       \
    {                                                                                              \
        int64_t height = f->dim[1], width = f->dim[2];                                             \
        for (int64_t c = 0; c < f->dim[0]; c++)                                                    \
            for (int64_t i = 0; i < height; i++)                                                   \
                name##_row(w, w->y < 0 ? height - 1 - i : i, image + c * height * width, width, height, fill); \
    }
CROP(float, crop_floats)
CROP(uint8_t, crop_bytes)

static void crop(const augment *a, const picture_draws *draws, const data_field *f, void *image)
{
    int32_t width = (int32_t)f->dim[2], height = (int32_t)f->dim[1];
    picture_box b = picture_changes_window(&a->changes, draws, width, height, width, height);
    window w = {b.x, b.y};
    if (is_bytes(f))
        crop_bytes(&w, f, image, a->changes.fill);
    else
        crop_floats(&w, f, image, (float)a->changes.fill);
}

bool augment_crops(const augment *a, const data_field *f)
{
    return a->changes.pads && !f->is_viewed && augment_takes(f);
}

void augment_paint(const augment *a, const picture_draws *draws, const data_field *f, void *image, void *room)
{
    const picture_planes p = {image, (int32_t)f->dim[0], (int32_t)f->dim[2], (int32_t)f->dim[1]};
    if (augment_crops(a, f))
        crop(a, draws, f, image);
    if (augment_is_picture(f))
        picture_changes_colours(&a->changes, draws, &p, room);
}

/* --- when they are numbers --- */

static motion draw(const augment *a, const rng *draws, int64_t i)
{
    uint64_t first = (uint64_t)i * DRAWS, span = 2 * (uint64_t)a->shift + 1;
    return (motion){
        .dx = (int64_t)rng_below(draws, first + DRAW_X, span) - a->shift,
        .dy = (int64_t)rng_below(draws, first + DRAW_Y, span) - a->shift,
        .flip = a->flip && rng_below(draws, first + DRAW_FLIP, 2) == 1,
    };
}

#define MIRROR(T, name)                                                                            \
    static void name(const data_field *f, const T *in, T *out)                                     \
    {                                                                                              \
        int64_t rows = f->dim[0] * f->dim[1], width = f->dim[2];                                   \
        for (int64_t row = 0; row < rows; row++, in += width, out += width)                        \
            for (int64_t x = 0; x < width; x++)                                                    \
                out[x] = in[width - 1 - x];                                                        \
    }
MIRROR(float, mirror_floats)
MIRROR(uint8_t, mirror_bytes)

/* A video as an image of as many planes. */
static data_field as_image(const data_field *f)
{
    data_field image = *f;
    if (f->rank == 4) {
        image.rank = 3;
        image.dim[0] = f->dim[0] * f->dim[1];
        image.dim[1] = f->dim[2];
        image.dim[2] = f->dim[3];
    }
    return image;
}

static uint8_t background_byte(const data_field *f)
{
    return (uint8_t)(f->bytes.background < 0 ? 0 : f->bytes.background);
}

void augment_apply(const augment *a, const rng *draws, int64_t i, const data_field *field,
                   const void *in, void *out)
{
    data_field image = as_image(field), *f = &image;
    motion m = draw(a, draws, i);
    window w = {-m.dx, -m.dy};
    if (!m.flip)
        memcpy(out, in, data_field_bytes(f));
    else if (f->dtype == DT_U8)
        mirror_bytes(f, in, out);
    else
        mirror_floats(f, in, out);
    if (a->shift > 0 && f->dtype == DT_U8)
        crop_bytes(&w, f, out, background_byte(f));
    else if (a->shift > 0)
        crop_floats(&w, f, out, f->background);
}

bool augment_erases(const augment *a, const data_field *f)
{
    return a->changes.erases && augment_takes(f);
}

#define ERASE(T, name)                                                                             \
    static void name(const data_field *f, const picture_box *b, T *image, T background)            \
    {                                                                                              \
        for (int64_t c = 0; c < f->dim[0]; c++)                                                    \
            for (int64_t y = b->y; y < b->y + b->height; y++)                                      \
                for (int64_t x = b->x; x < b->x + b->width; x++)                                   \
                    image[(c * f->dim[1] + y) * f->dim[2] + x] = background;                       \
    }
ERASE(float, erase_floats)
ERASE(uint8_t, erase_bytes)

void augment_erase(const augment *a, const picture_draws *draws, const data_field *f, void *image)
{
    picture_box b;
    if (!picture_changes_erased(&a->changes, draws, (int32_t)f->dim[2], (int32_t)f->dim[1], &b))
        return;
    if (f->dtype == DT_U8)
        erase_bytes(f, &b, image, (uint8_t)f->bytes.background);
    else
        erase_floats(f, &b, image, f->background);
}

/* --- what a device does --- */

bool augment_crops_last(const augment *a, const data_field *f)
{
    return augment_crops(a, f) && !(picture_changes_paint(&a->changes) && augment_is_picture(f));
}

bool augment_finishes(const augment *a, const data_field *f)
{
    return (augment_is_on(a) && augment_moves(f)) || augment_erases(a, f) || augment_crops_last(a, f);
}

bool augment_can_finish(const data_field *f)
{
    return augment_moves(f) && !f->varies && data_field_elements(f) <= INT32_MAX;
}

finish_form augment_form(const augment *a, const data_field *f)
{
    data_field image = as_image(f);
    bool means = f->bytes.channels > 0, stays = f->dtype == DT_U8 && !means;
    finish_form form = {.kind = means ? FINISH_BYTES : stays ? FINISH_PIXELS : FINISH_FLOATS,
                        .planes = (uint32_t)image.dim[0],
                        .height = (uint32_t)image.dim[1],
                        .width = (uint32_t)image.dim[2],
                        .planes_a_channel = (uint32_t)image.dim[0],
                        .fill = a->changes.fill,
                        .background = stays ? background_byte(f) : f->background,
                        .erased = stays ? (uint8_t)f->bytes.background : f->background};
    _Static_assert((int)DATA_CHANNELS == (int)FINISH_CHANNELS, "what bytes mean");
    for (int32_t c = 0; c < f->bytes.channels; c++) {
        form.planes_a_channel = (uint32_t)(image.dim[0] / f->bytes.channels);
        form.scale[c] = f->bytes.scale[c];
        form.offset[c] = f->bytes.offset[c];
    }
    return form;
}

/* A motion farther than the image is as good as one that is just as far. */
static int32_t at_most(int64_t far, int64_t size)
{
    return (int32_t)(far < -size ? -size : far > size ? size : far);
}

finish_draw augment_draw(const augment *a, const rng *motions, const picture_draws *changes, const data_field *f)
{
    data_field image = as_image(f);
    int32_t height = (int32_t)image.dim[1], width = (int32_t)image.dim[2];
    motion m = draw(a, motions, changes->place);
    picture_box b;
    finish_draw d = {.dx = at_most(m.dx, width), .dy = at_most(m.dy, height), .is_mirrored = m.flip};
    if (augment_crops_last(a, f)) {
        b = picture_changes_window(&a->changes, changes, width, height, width, height);
        d.left = b.x;
        d.top = b.y;
    }
    if (augment_erases(a, f) && picture_changes_erased(&a->changes, changes, width, height, &b))
        d.erased = (finish_box){b.x, b.y, b.width, b.height};
    return d;
}
