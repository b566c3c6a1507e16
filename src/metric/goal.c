#include "metric/goal.h"

#include <stdio.h>

status metric_goal_add(metric_goal *g, const char *text, error *err)
{
    if ((text[0] != '-' && text[0] != '+') || text[1] == '\0')
        return FAIL(err, E_CONFIG,
                    "'%s' does not say what is better: write \"+accuracy\" (larger) or \"-loss\" "
                    "(smaller)",
                    text);
    g->at[g->n].name = text + 1;
    g->at[g->n++].sign = text[0] == '+' ? 1 : -1;
    return OK;
}

status metric_goal_settings(const config *c, metric_goal *ret, error *err)
{
    static const char path[] = "trainer.validation_metric";
    const char *only = config_str(c, path);
    metric_goal g = {.n = 0};
    if (only)
        TRYF(metric_goal_add(&g, only, err), err, "%s", path);
    for (size_t i = 0; !only && i < config_count(c, path) && i < METRIC_GOALS; i++) {
        char item[64];
        snprintf(item, sizeof item, "%s[%zu]", path, i);
        TRYF(metric_goal_add(&g, config_str(c, item), err), err, "%s", item);
    }
    *ret = g;
    return OK;
}
