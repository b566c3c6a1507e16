/* See metric.h. */
#include "metric/metric.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const struct {
    const char *name;
    bool is_exponential; /* e to the power of the mean */
    bool is_of_step;
} known[] = {{"loss", false, false},
             {"accuracy", false, false},
             {"perplexity", true, false},
             {"loss_scale", false, true},
             {"skipped_steps", false, true}};

const char *metric_known(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].name;
    return NULL;
}

void metric_reset(metric_set *m)
{
    m->n = 0;
}

static const metric_value *find(const metric_set *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->at[i].name, name) == 0)
            return &m->at[i];
    return NULL;
}

void metric_add(metric_set *m, const char *name, double sum, double count)
{
    const metric_value *have = find(m, name);
    size_t i = have ? (size_t)(have - m->at) : m->n;
    if (!have) {
        BUG_ON(m->n == METRIC_COUNT_MAX);
        m->at[m->n++] = (metric_value){.name = name};
    }
    m->at[i].sum += sum;
    m->at[i].count += count;
}

void metric_merge(metric_set *into, const metric_set *from)
{
    for (size_t i = 0; i < from->n; i++)
        metric_add(into, from->at[i].name, from->at[i].sum, from->at[i].count);
}

static bool is_of_step(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (known[i].is_of_step && strcmp(known[i].name, name) == 0)
            return true;
    return false;
}

void metric_merge_lasting(metric_set *into, const metric_set *from)
{
    for (size_t i = 0; i < from->n; i++)
        if (!is_of_step(from->at[i].name))
            metric_add(into, from->at[i].name, from->at[i].sum, from->at[i].count);
}

double metric_result(const metric_set *m, const char *name)
{
    const metric_value *v = find(m, name);
    if (!v || v->count == 0.0)
        return (double)NAN;
    double mean = v->sum / v->count;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (known[i].is_exponential && strcmp(known[i].name, name) == 0)
            return det_exp(mean);
    return mean;
}
