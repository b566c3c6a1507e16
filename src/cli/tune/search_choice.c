#include "cli/tune/search_choice.h"

#include "cli/tune/search_check.h"
#include "common/base/alloc.h"
#include "metric/goal.h"
#include "metric/settings.h"

#include <string.h>

enum { TRIALS_MOST = 1000000 };

/* Whether the configuration lists a metric of this name. */
static bool is_listed(const config *c, const char *name)
{
    size_t n = 0;
    bool is_there = false;
    metric_settings *listed = metric_settings_create(c);
    const char *const *names = metric_settings_names(listed, &n);
    for (size_t i = 0; i < n; i++)
        is_there = is_there || strcmp(names[i], name) == 0;
    metric_settings_destroy(&listed);
    return is_there;
}

/* What TensorBoard has below a folder of names is here the metric's name alone; and Keras' "epoch_val_acc" is accuracy,
 * unless a metric has that name. */
static const char *metric_of_tag(const char *tag, const config *c)
{
    static const char *const fronts[] = {"epoch_", "val_", "validation_"};
    const char *slash = strrchr(tag, '/'), *name = slash ? slash + 1 : tag;
    if (is_listed(c, name))
        return name;
    for (size_t i = 0; i < COUNT_OF(fronts); i++)
        if (strncmp(name, fronts[i], strlen(fronts[i])) == 0)
            name += strlen(fronts[i]);
    return strcmp(name, "acc") == 0 && !is_listed(c, name) ? "accuracy" : name;
}

static status choose_metric(const search_choice *choice, const config *c, search_request *r, error *err)
{
    const search *asked = choice->asked;
    metric_goal goal = {.n = 0};
    if (!config_has(c, "validation_data_path"))
        return FAIL(err, E_CONFIG, "trials are compared by validation data: validation_data_path is missing");
    if (choice->metric)
        TRYF(metric_goal_add(&goal, choice->metric, err), err, "--metric");
    else
        TRY(metric_goal_settings(c, &goal, err));
    if (goal.n > 1 && !asked->metric)
        return FAIL(err, E_CONFIG, "trainer.validation_metric is a sum of %zu metrics; a search has one: give --metric",
                    goal.n);
    r->metric = goal.at[0].name;
    r->better = goal.at[0].sign;
    if (choice->metric || !asked->metric)
        return OK;
    r->metric = metric_of_tag(asked->metric, c);
    r->better = asked->better ? asked->better : 1; /* as AI Platform has it */
    return OK;
}

static int grid_size(const space *s)
{
    double n = 1;
    for (int i = 0; i < s->n; i++)
        n *= (double)space_parameter_values(&s->at[i]);
    return n < TRIALS_MOST ? (int)n : TRIALS_MOST;
}

static int first_of(int64_t given, int64_t asked, int64_t if_absent)
{
    return (int)(given > 0 ? given : asked > 0 ? asked : if_absent);
}

static status choose_trials(const search_choice *choice, search_request *r, error *err)
{
    const search *asked = choice->asked;
    bool is_grid = r->sampler == &sampler_grid;
    int all = is_grid ? grid_size(&asked->space) : TRIALS_MOST;
    r->trials = first_of(choice->trials, asked->trials, is_grid ? all : choice->trials_if_absent);
    if (!r->trials)
        return FAIL(err, E_USAGE, "how many trials is missing: give --trials N, or maxTrials");
    if (r->trials > all)
        r->trials = all;
    r->parallel = first_of(choice->parallel, asked->parallel, 1);
    if (r->parallel > r->trials)
        r->parallel = r->trials;
    r->failed_most = first_of(choice->failed_most, asked->failed_most, (r->trials + 1) / 2);
    return OK;
}

static status choose_sampler(const search_choice *choice, search_request *r, error *err)
{
    const char *asked = choice->asked->algorithm;
    r->sampler = sampler_named(choice->algorithm ? choice->algorithm : asked ? asked : "gp");
    return r->sampler->check ? r->sampler->check(&choice->asked->space, err) : OK;
}

static status choose_stopping(const search_choice *choice, search_request *r, error *err)
{
    static const struct {
        int min_epochs, reduction_factor; /* Ray's grace_period and reduction_factor */
    } if_absent = {1, 4};
    const char *rule = choice->stopping ? choice->stopping : choice->asked->stops_early ? "median" : "none";
    r->stopping = (stopping){.rule = stopping_rule_named(rule),
                             .min_epochs = first_of(choice->min_epochs, -1, if_absent.min_epochs),
                             .reduction_factor = first_of(choice->reduction_factor, -1, if_absent.reduction_factor)};
    if (choice->min_epochs > 0 && r->stopping.rule == &stopping_none)
        return FAIL(err, E_USAGE, "--min-epochs is of --early-stopping, which is none");
    if (choice->reduction_factor > 0 && r->stopping.rule != &stopping_asha)
        return FAIL(err, E_USAGE, "--reduction-factor is of --early-stopping asha");
    return OK;
}

/* What is set for all trials is not searched. */
static status check_settings(const search_choice *choice, error *err)
{
    const space *s = &choice->asked->space;
    for (const char *const *at = choice->settings; at && *at; at++)
        for (int i = 0; i < s->n; i++)
            if (strncmp(*at, s->at[i].name, strlen(s->at[i].name)) == 0 && (*at)[strlen(s->at[i].name)] == '=')
                return FAIL(err, E_USAGE, "%s among the trials' arguments: it is searched", s->at[i].name);
    return OK;
}

static status check(const search_choice *choice, const search_request *r, error *err)
{
    const search_check k = {
        .command = choice->command,
        .config_path = choice->config_path,
        .overrides = choice->overrides,
        .settings = choice->settings,
        .space = &choice->asked->space,
        .metric = r->metric,
        .better = r->better,
        .is_elsewhere = choice->is_elsewhere,
    };
    return search_check_run(&k, err);
}

status search_choose(const search_choice *choice, const config *c, char *digest, search_request *ret, error *err)
{
    TRY(check_settings(choice, err));
    TRY(choose_metric(choice, c, ret, err));
    TRY(choose_sampler(choice, ret, err));
    TRY(choose_trials(choice, ret, err));
    TRY(choose_stopping(choice, ret, err));
    TRY(check(choice, ret, err));
    config_digest(c, digest);
    ret->config_digest = digest;
    ret->previous = choice->previous ? choice->previous : choice->asked->previous;
    ret->space = &choice->asked->space;
    ret->seed = (uint64_t)(choice->seed >= 0 ? choice->seed : config_int(c, "random_seed"));
    return OK;
}
