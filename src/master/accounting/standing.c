#include "master/accounting/standing.h"

#include <math.h>

standing standing_begin(const plateau_rule *rule)
{
    return (standing){.best_epoch = -1, .best_step = -1, .plateau = plateau_begin(rule)};
}

status standing_score(const metric_goal *g, const json_t *evaluation, double *ret, error *err)
{
    double score = 0;
    for (size_t i = 0; i < g->n; i++) {
        const json_t *value = json_object_get(evaluation, g->at[i].name);
        if (!json_is_number(value) && !json_is_null(value))
            return FAIL(err, E_CONFIG, "trainer.validation_metric: the evaluation has no '%s'", g->at[i].name);
        score += json_is_number(value) ? g->at[i].sign * json_number_value(value) : (double)NAN;
    }
    *ret = score;
    return OK;
}

standing standing_after(const standing *s, const metric_goal *g, int64_t epoch, int64_t step, double score)
{
    standing now = *s;
    now.without_improvement++;
    if (isfinite(score) && (s->best_step < 0 || score > s->best)) {
        now.best = score;
        now.best_epoch = epoch;
        now.best_step = step;
        now.without_improvement = 0;
    }
    /* of one metric PyTorch is given the value itself */
    plateau_take(&now.plateau, epoch, g->n == 1 ? g->at[0].sign * score : score);
    return now;
}
