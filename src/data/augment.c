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

bool augment_works_on_bytes(const augment *a, const data_field *f)
{
    return (a->shift == 0 && !a->changes.erases) || f->bytes.background >= 0 || !augment_takes(f);
}

/* --- what is asked for, and is there --- */

static bool is_bytes(const data_field *f)
{
    return f->bytes.channels || f->dtype == DT_U8;
}

/* A picture in bytes, grey or in colours. */
static bool is_picture(const data_field *f)
{
    return augment_takes(f) && is_bytes(f) && (f->dim[0] == 1 || f->dim[0] == PICTURE_CHANNELS);
}

status augment_check(const config *section, const data_field *fields, size_t n, error *err)
{
    static const char *const of_pictures[] = {"color_jitter", "rand_augment", "trivial_augment_wide"};
    augment a = augment_read(section);
    bool has_images = false, has_pictures = false;
    for (size_t i = 0; i < n; i++) {
        has_images = has_images || augment_takes(&fields[i]);
        has_pictures = has_pictures || is_picture(&fields[i]);
    }
    for (size_t i = 0; section && i < COUNT_OF(of_pictures); i++)
        if (config_has(section, of_pictures[i]) && !has_pictures)
            return FAIL(err, E_CONFIG, "%s.%s: the data have no pictures, fields [1,H,W] or [3,H,W] whose values are "
                                       "bytes", config_path(section), of_pictures[i]);
    bool changes = augment_is_on(&a) || augment_paints(&a) || a.changes.erases;
    if (has_images || !changes)
        return OK;
    return FAIL(err, E_CONFIG, "%s: the data have no images, fields [C,H,W] of float32 or bytes", config_path(section));
}

/* --- while pixels are bytes --- */

bool augment_paints(const augment *a)
{
    return a->changes.pads || picture_changes_paint(&a->changes);
}

size_t augment_room(const augment *a, const data_field *f)
{
    return picture_changes_paint(&a->changes) && is_picture(f) ? (size_t)data_field_elements(f) : 0;
}

/* The row `y` of the window, from a plane whose rows may be read before they are written: itself. */
#define CROP(T, name)                                                                              \
    static void name##_row(const picture_box *b, int64_t y, T *plane, T fill)                      \
    {                                                                                              \
        int64_t width = b->width, from = y + b->y, left = b->x < 0 ? -b->x : 0;                    \
        int64_t n = b->x < 0 ? width + b->x : width - b->x;                                        \
        T *out = plane + y * width;                                                                \
        n = from < 0 || from >= b->height || n < 0 ? 0 : n;                                        \
        left = left > width ? width : left;                                                        \
        if (n > 0)                                                                                 \
            memmove(out + left, plane + from * width + (b->x < 0 ? 0 : b->x), (size_t)n * sizeof(T)); \
        for (int64_t x = 0; x < width; x++)                                                        \
            if (x < left || x >= left + n)                                                         \
                out[x] = fill;                                                                     \
    }                                                                                              \
    static void name(const picture_box *b, int64_t channels, T *image, T fill)                     \
    {                                                                                              \
        int64_t height = b->height;                                                                \
        for (int64_t c = 0; c < channels; c++)                                                     \
            for (int64_t i = 0; i < height; i++)                                                   \
                name##_row(b, b->y < 0 ? height - 1 - i : i, image + c * height * b->width, fill); \
    }
CROP(float, crop_floats)
CROP(uint8_t, crop_bytes)

static void crop(const augment *a, const picture_draws *draws, const data_field *f, void *image)
{
    int32_t width = (int32_t)f->dim[2], height = (int32_t)f->dim[1];
    picture_box window = picture_changes_window(&a->changes, draws, width, height, width, height);
    if (is_bytes(f))
        crop_bytes(&window, f->dim[0], image, a->changes.fill);
    else
        crop_floats(&window, f->dim[0], image, (float)a->changes.fill);
}

void augment_paint(const augment *a, const picture_draws *draws, const data_field *f, bool is_cropped, void *image,
                   void *room)
{
    const picture_planes p = {image, (int32_t)f->dim[0], (int32_t)f->dim[2], (int32_t)f->dim[1]};
    if (a->changes.pads && !is_cropped)
        crop(a, draws, f, image);
    if (is_picture(f))
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

#define MOVE(T, name)                                                                              \
    static void name##_row(const motion *m, const T *in, T *out, int64_t width, T background)      \
    {                                                                                              \
        for (int64_t x = 0; x < width; x++) {                                                      \
            int64_t from = x - m->dx;                                                              \
            bool inside = from >= 0 && from < width;                                               \
            out[x] = inside ? in[m->flip ? width - 1 - from : from] : background;                  \
        }                                                                                          \
    }                                                                                              \
    static void name(const motion *m, const data_field *f, const T *in, T *out, T background)      \
    {                                                                                              \
        int64_t height = f->dim[1], width = f->dim[2];                                             \
        for (int64_t c = 0; c < f->dim[0]; c++) {                                                  \
            const T *plane = in + c * height * width;                                              \
            for (int64_t y = 0; y < height; y++) {                                                 \
                T *row = out + (c * height + y) * width;                                           \
                int64_t from = y - m->dy;                                                          \
                if (from >= 0 && from < height)                                                    \
                    name##_row(m, plane + from * width, row, width, background);                   \
                else                                                                               \
                    for (int64_t x = 0; x < width; x++)                                            \
                        row[x] = background;                                                       \
            }                                                                                      \
        }                                                                                          \
    }
MOVE(float, move_floats)
MOVE(uint8_t, move_bytes)

void augment_apply(const augment *a, const rng *draws, int64_t i, const data_field *f,
                   const void *in, void *out)
{
    motion m = draw(a, draws, i);
    if (f->dtype == DT_U8)
        move_bytes(&m, f, in, out, (uint8_t)(f->bytes.background < 0 ? 0 : f->bytes.background));
    else
        move_floats(&m, f, in, out, f->background);
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
