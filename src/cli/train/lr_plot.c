#include "cli/train/lr_plot.h"

#include "data/axis.h"
#include "data/drawing.h"
#include "data/png.h"

#include <math.h>

enum { WIDTH = 800, HEIGHT = 480, LEFT = 90, RIGHT = 40, TOP = 20, BOTTOM = 50, TICKS = 6 };

enum { WHITE, GREY, BLACK, BLUE, FAINT, COLORS };
static const unsigned char colors[COLORS][3] = {
    [WHITE] = {255, 255, 255}, [GREY] = {170, 170, 170}, [BLACK] = {40, 40, 40},
    [BLUE] = {31, 119, 180},   [FAINT] = {235, 235, 235},
};

enum { SCALE = 2 }; /* of letters */

/* From the lowest loss to where smoothed ones end, or twice as high as where they began: those that ran away
 * would flatten all others. */
static axis axis_of_losses(const lr_curve *curve)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < curve->n; i++) {
        least = fmin(least, fmin(curve->smooth[i], curve->loss[i]));
        most = fmax(most, curve->smooth[i]);
    }
    double first = curve->smooth[0] - least, top = least + 2.0 * (first > 0 ? first : most - least);
    most = fmin(most, top);
    double room = most > least ? 0.08 * (most - least) : 1.0;
    return axis_create(least - room, most + room, false, HEIGHT - BOTTOM, TOP, TICKS);
}

static axis axis_of_rates(const lr_curve *curve)
{
    return axis_create(curve->rate[0], curve->rate[curve->n - 1], !curve->is_linear, LEFT, WIDTH - RIGHT, TICKS);
}

static void draw_ticks(drawing *c, const axis *rates, const axis *losses)
{
    char text[AXIS_LABEL];
    for (double at = NAN; axis_next_tick(rates, &at);) {
        int x = (int)lround(axis_pixel(rates, axis_tick_value(rates, at)));
        drawing_line(c, x, TOP, x, HEIGHT - BOTTOM, FAINT, 1);
        axis_tick_label(rates, at, text);
        drawing_text(c, x - drawing_text_width(text, SCALE) / 2, HEIGHT - BOTTOM + 8, SCALE, BLACK, text);
    }
    for (double at = NAN; axis_next_tick(losses, &at);) {
        int y = (int)lround(axis_pixel(losses, at));
        drawing_line(c, LEFT, y, WIDTH - RIGHT, y, FAINT, 1);
        axis_tick_label(losses, at, text);
        drawing_text(c, LEFT - 8 - drawing_text_width(text, SCALE), y - drawing_text_height(SCALE) / 2, SCALE, BLACK,
                     text);
    }
}

/* What lies far out of the picture is drawn not quite as far out. */
static double near_place(const axis *losses, double loss)
{
    double span = losses->to - losses->from;
    return axis_pixel(losses, fmin(fmax(loss, losses->from - 4 * span), losses->to + 4 * span));
}

static void draw_curve(drawing *c, const lr_curve *curve, const double *values, const axis *rates,
                       const axis *losses, unsigned char color, int thick)
{
    for (size_t i = 1; i < curve->n; i++)
        drawing_line(c, axis_pixel(rates, curve->rate[i - 1]), near_place(losses, values[i - 1]),
                  axis_pixel(rates, curve->rate[i]), near_place(losses, values[i]), color, thick);
}

status lr_plot_write(const char *path, const lr_curve *curve, error *err)
{
    static const char below[] = "learning rate";
    drawing whole = drawing_create(WIDTH, HEIGHT), *c = &whole; /* white */
    axis rates = axis_of_rates(curve), losses = axis_of_losses(curve);
    draw_ticks(c, &rates, &losses);
    drawing_text(c, (WIDTH + LEFT - drawing_text_width(below, SCALE)) / 2, HEIGHT - drawing_text_height(SCALE) - 4,
                 SCALE, BLACK, below);
    drawing_text(c, 4, 4, SCALE, BLACK, "loss");
    drawing_line(c, LEFT, TOP, LEFT, HEIGHT - BOTTOM, BLACK, 1);
    drawing_line(c, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, BLACK, 1);
    c->top = TOP;
    c->bottom = HEIGHT - BOTTOM;
    draw_curve(c, curve, curve->loss, &rates, &losses, GREY, 1);
    draw_curve(c, curve, curve->smooth, &rates, &losses, BLUE, 2);
    png_image image = {.width = WIDTH, .height = HEIGHT, .pixels = c->pixels,
                       .colors = &colors[0][0], .n_colors = COLORS};
    status st = png_write(path, &image, err);
    drawing_fini(&whole);
    return st;
}
