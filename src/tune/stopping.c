#include "tune/stopping.h"

#include "common/base/alloc.h"

#include <string.h>

static const stopping_rule *const rules[] = {&stopping_none, &stopping_median, &stopping_asha};

const stopping_rule *stopping_rule_named(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (strcmp(rules[i]->name, name) == 0)
            return rules[i];
    return NULL;
}

json_t *stopping_describe(const stopping *how)
{
    json_t *d = json_pack("{s:s}", "rule", how->rule->name);
    if (how->rule != &stopping_none)
        json_object_set_new(d, "min_epochs", json_integer(how->min_epochs));
    if (how->rule == &stopping_asha)
        json_object_set_new(d, "reduction_factor", json_integer(how->reduction_factor));
    return d;
}

/* --- none: every trial runs to the end of its job --- */

static stopping_verdict judge_none(const stopping *how, const study *s, const trial *t)
{
    (void)how, (void)s, (void)t;
    return TRIAL_GOES_ON;
}

const stopping_rule stopping_none = {.name = "none", .judge = judge_none};
