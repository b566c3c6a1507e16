/* See confusion_picture.h. */
#include "evaluator/confusion_picture.h"

#include "common/base/alloc.h"
#include "data/drawing.h"
#include "data/png.h"

#include <math.h>
#include <stdio.h>

enum {
    LEFT = 70, TOP = 40, RIGHT = 20, BOTTOM = 48,
    SIDE = 640,       /* of the table, if classes are not too many to be seen */
    CELL_MOST = 64,
    SCALE = 2,        /* of letters */
    SHADES = 64, BLACK = SHADES, FAINT, COLORS
};

typedef struct frame {
    int cell, classes;
} frame;

/* From white to blue. */
static void choose_colors(unsigned char ret[COLORS][3])
{
    static const unsigned char darkest[3] = {8, 48, 107}, black[3] = {40, 40, 40}, faint[3] = {200, 200, 200};
    for (int i = 0; i < SHADES; i++)
        for (int c = 0; c < 3; c++)
            ret[i][c] = (unsigned char)(255 - (255 - darkest[c]) * i / (SHADES - 1));
    for (int c = 0; c < 3; c++) {
        ret[BLACK][c] = black[c];
        ret[FAINT][c] = faint[c];
    }
}

static void draw_count(drawing *d, const frame *f, int x, int y, double count, bool is_dark)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f", count);
    int scale = drawing_text_width(text, SCALE) < f->cell ? SCALE : 1;
    if (drawing_text_width(text, scale) < f->cell && drawing_text_height(scale) < f->cell)
        drawing_text(d, x + (f->cell - drawing_text_width(text, scale)) / 2,
                     y + (f->cell - drawing_text_height(scale)) / 2, scale, is_dark ? 0 : BLACK, text);
}

static void draw_row(drawing *d, const frame *f, const double *counts, int row)
{
    double sum = 0.0;
    for (int i = 0; i < f->classes; i++)
        sum += counts[i];
    for (int i = 0; i < f->classes; i++) {
        double share = sum > 0.0 ? counts[i] / sum : 0.0;
        int shade = (int)lround(share * (SHADES - 1)), x = LEFT + i * f->cell, y = TOP + row * f->cell;
        drawing_rectangle(d, x, y, f->cell, f->cell, (unsigned char)shade);
        draw_count(d, f, x, y, counts[i], shade > SHADES / 2);
    }
}

/* So many classes from one number to the next that they do not touch. */
static int number_step(const frame *f)
{
    int step = 1, room = drawing_text_width("0000", SCALE);
    for (int i = 0; step * f->cell < room; i++)
        step *= i % 3 == 1 ? 5 : 2; /* 2, 10, 20, 40, 200 */
    return step;
}

static void draw_numbers(drawing *d, const frame *f)
{
    char text[16];
    int side = f->cell * f->classes, step = number_step(f);
    for (int i = 0; i < f->classes; i += step) {
        int middle = i * f->cell + f->cell / 2;
        snprintf(text, sizeof text, "%d", i);
        drawing_text(d, LEFT + middle - drawing_text_width(text, SCALE) / 2, TOP + side + 6, SCALE, BLACK, text);
        drawing_text(d, LEFT - 6 - drawing_text_width(text, SCALE), TOP + middle - drawing_text_height(SCALE) / 2,
                     SCALE, BLACK, text);
    }
    drawing_text(d, 4, TOP - 6 - drawing_text_height(SCALE), SCALE, BLACK, "label");
    drawing_text(d, LEFT, d->height - drawing_text_height(SCALE) - 2, SCALE, BLACK, "predicted");
}

static void draw_border(drawing *d, const frame *f)
{
    int side = f->cell * f->classes;
    for (int i = -1; i <= side; i++) {
        drawing_dot(d, LEFT + i, TOP - 1, FAINT);
        drawing_dot(d, LEFT + i, TOP + side, FAINT);
        drawing_dot(d, LEFT - 1, TOP + i, FAINT);
        drawing_dot(d, LEFT + side, TOP + i, FAINT);
    }
}

bool confusion_picture_fits(const metric_figure *f)
{
    return f->are_counts && f->rows > 1 && f->rows == f->columns;
}

status confusion_picture_draw(const metric_figure *table, confusion_picture *ret, error *err)
{
    frame f = {.classes = (int)table->rows};
    unsigned char colors[COLORS][3];
    f.cell = SIDE / f.classes > CELL_MOST ? CELL_MOST : SIDE / f.classes > 0 ? SIDE / f.classes : 1;
    int side = f.cell * f.classes, least = drawing_text_width("predicted", SCALE);
    drawing d = drawing_create(LEFT + (side > least ? side : least) + RIGHT, TOP + side + BOTTOM);
    choose_colors(colors);
    for (int i = 0; i < f.classes; i++)
        draw_row(&d, &f, table->values + (int64_t)i * f.classes, i);
    draw_border(&d, &f);
    draw_numbers(&d, &f);
    png_image image = {.width = d.width, .height = d.height, .pixels = d.pixels, .colors = &colors[0][0],
                       .n_colors = COLORS};
    *ret = (confusion_picture){.width = d.width, .height = d.height, .png = BUF_INIT};
    status st = png_encode(&image, &ret->png, err);
    if (st != OK)
        confusion_picture_fini(ret);
    drawing_fini(&d);
    return st;
}

void confusion_picture_fini(confusion_picture *p)
{
    buf_fini(&p->png);
}
