#include "master/accounting/final_metrics.h"

#include "common/base/alloc.h"
#include "metric/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void final_metrics_put_duration(json_t *into, double seconds)
{
    char text[64];
    int64_t us = (int64_t)(seconds * 1e6), s = us / 1000000;
    snprintf(text, sizeof text, "%" PRId64 ":%02d:%02d.%06d", s / 3600, (int)(s / 60 % 60), (int)(s % 60),
             (int)(us % 1000000));
    json_object_set_new(into, "training_duration", json_string(text));
    json_object_set_new(into, "training_duration_s", json_real(seconds));
}

void final_metrics_put_training(json_t *into, const metric_set *means, const metric_figures *figures)
{
    const char *name;
    json_t *value, *all = json_object();
    figures_put(all, means, figures ? figures : &(metric_figures){.n = 0});
    json_object_foreach(all, name, value)
    {
        char *key = xasprintf("training_%s", name);
        json_object_set(into, key, value);
        free(key);
    }
    json_decref(all);
}

/* What an evaluation says of itself, beside its metrics. */
static bool is_of_course(const char *key)
{
    static const char *const keys[] = {"step", "epochs_done", "final", "examples", "seconds"};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

void final_metrics_put_validation(json_t *into, const json_t *evaluation)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)evaluation, name, value)
    {
        char *key = xasprintf("validation_%s", name);
        if (!is_of_course(name))
            json_object_set(into, key, value);
        free(key);
    }
}

void final_metrics_put_best(json_t *into, const json_t *best)
{
    static const char prefix[] = "validation_";
    const char *name;
    json_t *value, *copy = json_copy((json_t *)(uintptr_t)best); /* they may be one */
    json_object_foreach(copy, name, value)
    {
        char *key = xasprintf("best_%s", name);
        if (strncmp(name, prefix, strlen(prefix)) == 0)
            json_object_set(into, key, value);
        free(key);
    }
    json_decref(copy);
}
