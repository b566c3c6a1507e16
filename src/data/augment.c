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
    augment a = {0};
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
    return a->shift == 0 || f->bytes.background >= 0 || !augment_takes(f);
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
