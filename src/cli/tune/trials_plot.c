/*
 * Panels, two a row: objectives over trials with the best so far as a line, then over each parameter, on its scale.
 * Complete trials are blue, the best one is red, those that were stopped or are paused are grey; a failed one is a
 * cross at the worse end. What is worse than three quarters of the trials stands at that end too: trials that ran away
 * would flatten all others.
 */
#include "cli/tune/trials_plot.h"

#include "common/base/alloc.h"
#include "data/axis.h"
#include "data/drawing.h"
#include "data/png.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 420, HEIGHT = 270, LEFT = 84, RIGHT = 20, TOP = 26, BOTTOM = 28, TICKS = 4, COLUMNS = 2 };
enum { WHITE, GREY, BLACK, BLUE, FAINT, RED, COLORS };
static const unsigned char colors[COLORS][3] = {
    [WHITE] = {255, 255, 255}, [GREY] = {170, 170, 170},  [BLACK] = {40, 40, 40},
    [BLUE] = {31, 119, 180},   [FAINT] = {235, 235, 235}, [RED] = {214, 39, 40},
};

typedef struct plot {
    const study *study;
    const trial *best;
    drawing drawing;
    axis objectives; /* with the pixels of the panel that is drawn */
    int left, right, top, bottom;
} plot;

/* --- the range of objectives --- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* From the best to what three quarters are no worse than, with some room. */
static void range_of(const study *s, double *ret_least, double *ret_most)
{
    double *losses = xcalloc((size_t)s->n, sizeof *losses);
    int n = 0;
    for (int i = 0; i < s->n; i++)
        if (isfinite(s->trials[i].objective))
            losses[n++] = -s->better * s->trials[i].objective;
    qsort(losses, (size_t)n, sizeof *losses, compare);
    double best = losses[0], worse = losses[3 * (n - 1) / 4];
    double room = worse > best ? 0.08 * (worse - best) : fabs(best) > 0 ? 0.1 * fabs(best) : 1.0;
    free(losses);
    *ret_least = s->better > 0 ? -worse - room : best - room;
    *ret_most = s->better > 0 ? -best + room : worse + room;
}

/* --- panels --- */

typedef enum alignment { AT_LEFT, IN_THE_MIDDLE, AT_RIGHT } alignment;

/* Into `room` pixels from x on: in letters that are half as large where it would not fit otherwise. */
static void write_text(plot *p, int x, int y, int room, alignment where, const char *text)
{
    int scale = drawing_text_width(text, 2) <= room ? 2 : 1, letter = drawing_text_width("x", scale);
    char *fits = xstrndup(text, (size_t)(room / letter));
    int left = room - drawing_text_width(fits, scale);
    drawing_text(&p->drawing, x + left * (int)where / 2, y, scale, BLACK, fits);
    free(fits);
}

static void draw_panel(plot *p, int number, const char *title)
{
    int x = number % COLUMNS * WIDTH, y = number / COLUMNS * HEIGHT;
    char text[AXIS_LABEL];
    p->left = x + LEFT;
    p->right = x + WIDTH - RIGHT;
    p->top = y + TOP;
    p->bottom = y + HEIGHT - BOTTOM;
    p->objectives.first = p->bottom;
    p->objectives.last = p->top;
    write_text(p, p->left, y + 6, WIDTH - LEFT, AT_LEFT, title);
    for (double at = NAN; axis_next_tick(&p->objectives, &at);) {
        int row = (int)lround(axis_pixel(&p->objectives, at));
        drawing_line(&p->drawing, p->left, row, p->right, row, FAINT, 1);
        axis_tick_label(&p->objectives, at, text);
        write_text(p, x + 4, row - drawing_text_height(2) / 2, LEFT - 8, AT_RIGHT, text);
    }
    drawing_line(&p->drawing, p->left, p->top, p->left, p->bottom, BLACK, 1);
    drawing_line(&p->drawing, p->left, p->bottom, p->right, p->bottom, BLACK, 1);
}

/* Within the panel. */
static double row_of(const plot *p, double objective)
{
    return fmin(fmax(axis_pixel(&p->objectives, objective), p->top), p->bottom);
}

static void draw_trial(plot *p, const trial *t, double x)
{
    int worse_end = p->study->better > 0 ? p->bottom : p->top, column = (int)lround(x);
    if (!isfinite(t->objective)) {
        if (t->state == TRIAL_FAILED)
            drawing_text(&p->drawing, column - 2, worse_end - 4, 1, BLACK, "x");
        return;
    }
    int half = t == p->best ? 4 : 2, row = (int)lround(row_of(p, t->objective));
    drawing_rectangle(&p->drawing, column - half, row - half, 2 * half + 1, 2 * half + 1,
                      t == p->best ? RED : t->state == TRIAL_COMPLETE ? BLUE : GREY);
}

/* Where trials are, from 0 to 1; the best one over the others. */
typedef double place_of(const plot *p, const trial *t, int parameter);

static void draw_trials(plot *p, place_of *place, int parameter)
{
    for (int i = 0; i <= p->study->n; i++) {
        const trial *t = i < p->study->n ? &p->study->trials[i] : p->best;
        draw_trial(p, t, p->left + place(p, t, parameter) * (p->right - p->left));
    }
}

/* --- over trials --- */

static double place_in_time(const plot *p, const trial *t, int parameter)
{
    (void)parameter;
    return (t->number - 0.5) / p->study->n;
}

static void draw_best_so_far(plot *p)
{
    double best = NAN, x = p->left, step = (double)(p->right - p->left) / p->study->n;
    for (int i = 0; i < p->study->n; i++, x += step) {
        const trial *t = &p->study->trials[i];
        double before = best;
        if (t->state == TRIAL_COMPLETE)
            best = study_better(p->study, best, t->objective);
        if (isfinite(before))
            drawing_line(&p->drawing, x, row_of(p, before), x, row_of(p, best), BLUE, 1);
        if (isfinite(best))
            drawing_line(&p->drawing, x, row_of(p, best), x + step, row_of(p, best), BLUE, 1);
    }
}

static void draw_over_trials(plot *p, const char *metric)
{
    char last[32];
    snprintf(last, sizeof last, "%d", p->study->n);
    char *title = xasprintf("%s over trials", metric);
    draw_panel(p, 0, title);
    free(title);
    write_text(p, p->left, p->bottom + 8, WIDTH - LEFT - RIGHT, AT_LEFT, "1");
    write_text(p, p->left, p->bottom + 8, WIDTH - LEFT - RIGHT, AT_RIGHT, last);
    draw_best_so_far(p);
    draw_trials(p, place_in_time, 0);
}

/* --- over a parameter --- */

static double place_in_space(const plot *p, const trial *t, int parameter)
{
    double unit[SPACE_PARAMETERS_MOST];
    space_unit(p->study->space, t->point, unit);
    return unit[parameter];
}

/* Of the value at a place from 0 to 1; free it. */
static char *label_at(const plot *p, int parameter, double place)
{
    const space *s = p->study->space;
    double unit[SPACE_PARAMETERS_MOST] = {0}, point[SPACE_PARAMETERS_MOST];
    unit[parameter] = place;
    space_point(s, unit, point);
    json_t *values = space_values(s, point);
    const json_t *value = json_object_get(values, s->at[parameter].name);
    char *text = json_is_string(value) ? xstrdup(json_string_value(value))
                                       : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(4));
    json_decref(values);
    return text;
}

/* Each of a short list, else the ends. */
static void label_values(plot *p, int parameter)
{
    enum { SHORT = 10 };
    const space_parameter *q = &p->study->space->at[parameter];
    bool is_list = q->n && q->n <= SHORT && !q->is_scaled;
    int n = is_list ? q->n : 2, room = (p->right - p->left) / n;
    for (int i = 0; i < n; i++) {
        char *text = label_at(p, parameter, is_list ? (i + 0.5) / n : i);
        alignment where = is_list ? IN_THE_MIDDLE : i ? AT_RIGHT : AT_LEFT;
        write_text(p, p->left + i * room, p->bottom + 8, room - 4, where, text);
        free(text);
    }
}

static void draw_over_parameter(plot *p, int parameter)
{
    draw_panel(p, 1 + parameter, p->study->space->at[parameter].name);
    label_values(p, parameter);
    draw_trials(p, place_in_space, parameter);
}

status trials_plot_write(const char *path, const study *s, const char *metric, error *err)
{
    plot p = {.study = s, .best = study_best(s)};
    if (!p.best)
        return OK;
    double least, most;
    int panels = 1 + s->space->n, rows = (panels + COLUMNS - 1) / COLUMNS;
    range_of(s, &least, &most);
    p.objectives = axis_create(least, most, false, 0, 0, TICKS);
    p.drawing = drawing_create(COLUMNS * WIDTH, rows * HEIGHT);
    draw_over_trials(&p, metric);
    for (int i = 0; i < s->space->n; i++)
        draw_over_parameter(&p, i);
    png_image image = {.width = p.drawing.width, .height = p.drawing.height, .pixels = p.drawing.pixels,
                       .colors = &colors[0][0], .n_colors = COLORS};
    status st = png_write(path, &image, err);
    drawing_fini(&p.drawing);
    return st;
}
