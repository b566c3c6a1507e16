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
    return f->dtype == DT_F32 && f->rank == 3;
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

static void move_row(const motion *m, const float *in, float *out, int64_t width, float background)
{
    for (int64_t x = 0; x < width; x++) {
        int64_t from = x - m->dx;
        bool inside = from >= 0 && from < width;
        out[x] = inside ? in[m->flip ? width - 1 - from : from] : background;
    }
}

void augment_apply(const augment *a, const rng *draws, int64_t i, const data_field *f,
                   const float *in, float *out)
{
    motion m = draw(a, draws, i);
    int64_t height = f->dim[1], width = f->dim[2];
    for (int64_t c = 0; c < f->dim[0]; c++) {
        const float *plane = in + c * height * width;
        for (int64_t y = 0; y < height; y++) {
            float *row = out + (c * height + y) * width;
            int64_t from = y - m.dy;
            if (from >= 0 && from < height)
                move_row(&m, plane + from * width, row, width, f->background);
            else
                for (int64_t x = 0; x < width; x++)
                    row[x] = f->background;
        }
    }
}
