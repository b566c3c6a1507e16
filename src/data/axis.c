#include "data/axis.h"

#include <math.h>
#include <stdio.h>

axis axis_create(double least, double most, bool is_log, int first, int last, int ticks)
{
    axis a = {.from = is_log ? log10(least) : least, .to = is_log ? log10(most) : most, .is_log = is_log,
              .first = first, .last = last, .ticks = ticks};
    return a;
}

double axis_pixel(const axis *a, double value)
{
    double x = a->is_log ? log10(value) : value;
    return a->first + (x - a->from) / (a->to - a->from) * (a->last - a->first);
}

/* The distance of ticks: 1, 2 or 5 times a power of ten, whole decades on a logarithmic axis. */
static double tick_step(const axis *a)
{
    double span = (a->to - a->from) / a->ticks, power = pow(10.0, floor(log10(span)));
    double times = span / power < 1.5 ? 1 : span / power < 3.5 ? 2 : span / power < 7.5 ? 5 : 10;
    return a->is_log ? fmax(1.0, round(span)) : times * power;
}

bool axis_next_tick(const axis *a, double *at)
{
    double step = tick_step(a);
    *at = isnan(*at) ? ceil(a->from / step - 1e-9) * step : *at + step;
    return *at <= a->to + 1e-9 * step;
}

double axis_tick_value(const axis *a, double at)
{
    return a->is_log ? pow(10.0, at) : at;
}

void axis_tick_label(const axis *a, double at, char *ret)
{
    bool is_zero = fabs(at) < 1e-9 * tick_step(a);
    if (a->is_log)
        snprintf(ret, AXIS_LABEL, "1e%d", (int)lround(at));
    else
        snprintf(ret, AXIS_LABEL, "%.3g", is_zero ? 0.0 : at);
}
