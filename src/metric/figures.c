/* See figures.h. */
#include "metric/figures.h"

#include <math.h>

/* JSON has no word for what is not a number: null. */
static json_t *number(double x, bool is_count)
{
    if (!isfinite(x))
        return json_null();
    return is_count ? json_integer((json_int_t)x) : json_real(x);
}

static json_t *row(const metric_figure *f, int64_t at)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < f->columns; i++)
        json_array_append_new(list, number(f->values[at * f->columns + i], f->are_counts));
    return list;
}

static json_t *table(const metric_figure *f)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < f->rows; i++)
        json_array_append_new(list, row(f, i));
    return list;
}

static void put_number(void *user, const char *name, double value)
{
    json_object_set_new(user, name, number(value, false));
}

void figures_put(json_t *into, const metric_set *means, const metric_figures *figures)
{
    figures_each_number(means, figures, put_number, into);
    for (size_t i = 0; i < figures->n; i++) {
        const metric_figure *f = &figures->at[i];
        if (f->rows > 0)
            json_object_set_new(into, f->name, f->rows > 1 ? table(f) : row(f, 0));
    }
}

static void say_number(void *user, const char *name, double value)
{
    buf_addf(user, " %s=%.5f", name, value);
}

void figures_say(const metric_set *means, const metric_figures *figures, buf *to)
{
    figures_each_number(means, figures, say_number, to);
}

void figures_each_number(const metric_set *means, const metric_figures *figures, figures_taker *take, void *user)
{
    for (size_t i = 0; i < means->n; i++)
        if (!metric_figures_find(figures, means->at[i].name))
            take(user, means->at[i].name, metric_result(means, means->at[i].name));
    for (size_t i = 0; i < figures->n; i++)
        if (figures->at[i].rows == 0)
            take(user, figures->at[i].name, figures->at[i].values[0]);
}
