#include "cli/train/lr_plot.h"

#include "data/drawing.h"
#include "data/png.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 800, HEIGHT = 480, LEFT = 90, RIGHT = 40, TOP = 20, BOTTOM = 50, TICKS = 6 };

enum { WHITE, GREY, BLACK, BLUE, FAINT, COLORS };
static const unsigned char colors[COLORS][3] = {
    [WHITE] = {255, 255, 255}, [GREY] = {170, 170, 170}, [BLACK] = {40, 40, 40},
    [BLUE] = {31, 119, 180},   [FAINT] = {235, 235, 235},
};

enum { SCALE = 2 }; /* of letters */

static void draw_line(drawing *c, double x0, double y0, double x1, double y1, unsigned char color, int thick)
{
    double longest = fmax(fabs(x1 - x0), fabs(y1 - y0));
    int n = (int)longest + 1;
    for (int i = 0; i <= n; i++) {
        int x = (int)lround(x0 + (x1 - x0) * i / n), y = (int)lround(y0 + (y1 - y0) * i / n);
        for (int k = 0; k < thick * thick; k++)
            drawing_dot(c, x + k % thick, y + k / thick, color);
    }
}

/* --- axes --- */

typedef struct axis {
    double from, to; /* of what is drawn: the logarithm, or the value itself */
    bool is_log;
} axis;

static double axis_place(const axis *a, double value)
{
    double x = a->is_log ? log10(value) : value;
    return (x - a->from) / (a->to - a->from);
}

static double place_x(const axis *a, double rate)
{
    return LEFT + axis_place(a, rate) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const axis *a, double loss)
{
    return HEIGHT - BOTTOM - axis_place(a, loss) * (HEIGHT - TOP - BOTTOM);
}

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
    return (axis){.from = least - room, .to = most + room};
}

static axis axis_of_rates(const lr_curve *curve)
{
    double from = curve->rate[0], to = curve->rate[curve->n - 1];
    return curve->is_linear ? (axis){.from = from, .to = to}
                            : (axis){.from = log10(from), .to = log10(to), .is_log = true};
}

/* The distance of ticks: 1, 2 or 5 times a power of ten, whole decades on a logarithmic axis. */
static double tick_step(const axis *a)
{
    double span = (a->to - a->from) / TICKS, power = pow(10.0, floor(log10(span)));
    double times = span / power < 1.5 ? 1 : span / power < 3.5 ? 2 : span / power < 7.5 ? 5 : 10;
    return a->is_log ? fmax(1.0, round(span)) : times * power;
}

/* "1e-5" of a decade */
static void label_rate(const axis *rates, double at, char *text, size_t bytes)
{
    if (rates->is_log)
        snprintf(text, bytes, "1e%d", (int)lround(at));
    else
        snprintf(text, bytes, "%.3g", at);
}

static void draw_ticks(drawing *c, const axis *rates, const axis *losses)
{
    char text[32];
    double step = tick_step(rates);
    for (double at = ceil(rates->from / step - 1e-9) * step; at <= rates->to + 1e-9 * step; at += step) {
        double value = rates->is_log ? pow(10.0, at) : at;
        int x = (int)lround(place_x(rates, value));
        draw_line(c, x, TOP, x, HEIGHT - BOTTOM, FAINT, 1);
        label_rate(rates, at, text, sizeof text);
        drawing_text(c, x - drawing_text_width(text, SCALE) / 2, HEIGHT - BOTTOM + 8, SCALE, BLACK, text);
    }
    step = tick_step(losses);
    for (double at = ceil(losses->from / step) * step; at <= losses->to; at += step) {
        int y = (int)lround(place_y(losses, at));
        draw_line(c, LEFT, y, WIDTH - RIGHT, y, FAINT, 1);
        snprintf(text, sizeof text, "%.3g", fabs(at) < 1e-9 * step ? 0.0 : at);
        drawing_text(c, LEFT - 8 - drawing_text_width(text, SCALE), y - drawing_text_height(SCALE) / 2, SCALE, BLACK,
                     text);
    }
}

/* What lies far out of the picture is drawn not quite as far out. */
static double near_place(const axis *losses, double loss)
{
    double span = losses->to - losses->from;
    return place_y(losses, fmin(fmax(loss, losses->from - 4 * span), losses->to + 4 * span));
}

static void draw_curve(drawing *c, const lr_curve *curve, const double *values, const axis *rates,
                       const axis *losses, unsigned char color, int thick)
{
    for (size_t i = 1; i < curve->n; i++)
        draw_line(c, place_x(rates, curve->rate[i - 1]), near_place(losses, values[i - 1]),
                  place_x(rates, curve->rate[i]), near_place(losses, values[i]), color, thick);
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
    draw_line(c, LEFT, TOP, LEFT, HEIGHT - BOTTOM, BLACK, 1);
    draw_line(c, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, BLACK, 1);
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
