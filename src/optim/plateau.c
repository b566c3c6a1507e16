#include "optim/plateau.h"

#include "common/parts/verdict.h"

#include <math.h>

plateau plateau_begin(const plateau_rule *rule)
{
    return (plateau){.rule = *rule, .best = rule->more_is_better ? -(double)INFINITY : (double)INFINITY};
}

static bool is_better(const plateau *p, double value)
{
    const plateau_rule *r = &p->rule;
    double margin = r->more_is_better ? r->threshold : -r->threshold;
    double limit = r->is_relative ? p->best * (1.0 + margin) : p->best + margin;
    return r->more_is_better ? value > limit : value < limit;
}

static bool counts(const plateau_rule *r, int64_t epoch)
{
    return r->is_used && epoch >= r->first_epoch && epoch < r->end_epoch;
}

void plateau_take(plateau *p, int64_t epoch, double value)
{
    if (!counts(&p->rule, epoch))
        return;
    bool better = is_better(p, value);
    p->bad_epochs = better ? 0 : p->bad_epochs + 1;
    if (better)
        p->best = value;
    if (p->cooling > 0) {
        p->cooling--;
        p->bad_epochs = 0;
    }
    if (p->bad_epochs <= p->rule.patience)
        return;
    p->cooling = p->rule.cooldown;
    p->bad_epochs = 0;
    if (p->reductions < VERDICT_REDUCTIONS)
        p->reductions++;
}
