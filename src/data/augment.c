/* See augment.h. */
#include "data/augment.h"

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
    return (f->dtype == DT_F32 || f->bytes.channels) && f->rank == 3;
}

bool augment_works_on_bytes(const augment *a, const data_field *f)
{
    return (a->shift == 0 && !a->changes.erases) || f->bytes.background >= 0 || !augment_takes(f);
}

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
