/* See kind.h. */
#include "metric/kind.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *metric_name(const metric *m)
{
    return m->o.name ? m->o.name : m->o.kind;
}

char *metric_figure_name(const metric_kind *kind, const metric_options *o, const char *ending, size_t n)
{
    const char *before = o->name ? o->name : kind->endings_name_it ? "" : o->kind;
    const char *between = o->name && kind->endings_name_it ? "_" : "";
    return xasprintf("%s%s%.*s", before, between, (int)n, ending);
}

status metric_fail(const metric *m, error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = xvasprintf(format, args);
    va_end(args);
    status st = FAIL(err, E_CONFIG, "metric '%s': %s", metric_name(m), text);
    free(text);
    return st;
}

double metric_ratio(double part, double whole)
{
    return whole > 0.0 ? part / whole : (double)NAN;
}

void metric_put_table(const metric *m, metric_figures *to, const char *ending, int64_t rows, int64_t columns,
                      const double *values)
{
    size_t n = (size_t)((rows ? rows : 1) * columns);
    GROW(to->at, to->cap, to->n + 1);
    metric_figure *f = &to->at[to->n++];
    char *name = metric_figure_name(m->kind, &m->o, ending, strlen(ending));
    *f = (metric_figure){.name = name, .rows = rows, .columns = columns};
    f->values = xcalloc(n + 1, sizeof *f->values);
    memcpy(f->values, values, n * sizeof *values);
}

void metric_put(const metric *m, metric_figures *to, const char *ending, double value)
{
    metric_put_table(m, to, ending, 0, 1, &value);
}

int64_t metric_classes(const metric_source *s)
{
    return s->input == METRIC_YES_NO ? 2 : s->classes;
}

int64_t metric_predicted(const metric_source *s, const metric_batch *b, int64_t i)
{
    if (b->predicted)
        return b->predicted[i];
    if (s->input == METRIC_YES_NO)
        return b->scores[i] > (s->is_odds ? 0.0f : 0.5f);
    int64_t best = 0;
    float score = metric_score(s, b, i, 0);
    for (int64_t c = 1; c < s->classes; c++) {
        float other = metric_score(s, b, i, c);
        if (other > score) {
            best = c;
            score = other;
        }
    }
    return best;
}

int64_t metric_truth(const metric_source *s, const metric_batch *b, int64_t i)
{
    if (s->input == METRIC_YES_NO)
        return b->labels ? b->labels[i] != 0 : b->targets[i] > 0.5f;
    return b->labels[i];
}
