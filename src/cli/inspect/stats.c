#include "cli/inspect/stats.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"

static bool is_finite(double x)
{
    return x - x == 0;
}

void inspect_stats_add(inspect_stats *s, double x)
{
    if (!is_finite(x)) {
        s->n_bad++;
        return;
    }
    s->min = !s->n || x < s->min ? x : s->min;
    s->max = !s->n || x > s->max ? x : s->max;
    s->sum += x;
    s->n++;
}

void inspect_stats_add_again(inspect_stats *s, double x)
{
    double from_mean = x - s->sum / (double)s->n;
    if (is_finite(x))
        s->squares += from_mean * from_mean;
}

void inspect_stats_tell(const inspect_stats *s, json_t *o)
{
    /* json_real gives NULL for what JSON cannot say, for instance a mean of values near the end of
     * the range of doubles */
    const double n = (double)s->n;
    const double values[] = {s->min, s->max, s->sum / n, det_sqrt(s->squares / n)};
    static const char *const keys[] = {"min", "max", "mean", "std"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *value = s->n ? json_real(values[i]) : NULL;
        json_object_set_new(o, keys[i], value ? value : json_null());
    }
    json_object_set_new(o, "not_finite", json_integer((json_int_t)s->n_bad));
}
