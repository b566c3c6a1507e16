#include "optim/settings.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a section says of the optimizer; a key that it does not have, or that is null, stays as it is. */
static void take_f64(const config *s, const char *key, double *ret)
{
    if (config_has(s, key))
        *ret = config_f64(s, key);
}

static void take_betas(const config *s, optim *ret)
{
    const json_t *betas = config_json(s, "betas");
    if (!betas)
        return;
    ret->beta1 = json_number_value(json_array_get(betas, 0));
    ret->beta2 = json_number_value(json_array_get(betas, 1));
}

/* What a group may have of its own. */
static void take_group(const config *s, optim *ret)
{
    take_f64(s, "weight_decay", &ret->weight_decay);
    take_f64(s, "momentum", &ret->momentum);
    take_f64(s, "eps", &ret->eps);
    take_betas(s, ret);
}

static const config *group_section(const config *c, size_t i)
{
    char path[64];
    snprintf(path, sizeof path, "trainer.optimizer.parameter_groups[%zu]", i);
    return config_section(c, path);
}

static size_t n_groups_of(const config *c)
{
    return config_count(c, "trainer.optimizer.parameter_groups");
}

optim optim_settings(const config *c)
{
    const config *s = config_section(c, "trainer.optimizer");
    optim o = {0};
    if (!optim_kind_of(config_str(s, "type"), &o.kind))
        BUG("the option table knows an optimizer that optim does not");
    take_group(s, &o);
    take_f64(s, "dampening", &o.dampening);
    take_f64(s, "alpha", &o.alpha);
    take_f64(s, "rho", &o.alpha);
    take_f64(s, "momentum_decay", &o.momentum_decay);
    take_f64(s, "l1_regularization_strength", &o.l1);
    take_f64(s, "l2_regularization_strength", &o.l2);
    take_f64(s, "lr_decay", &o.lr_decay);
    take_f64(s, "initial_accumulator_value", &o.initial_accumulator);
    o.is_decoupled = config_bool(s, "decoupled_weight_decay");
    o.nesterov = config_bool(s, "nesterov");
    o.centered = config_bool(s, "centered");
    o.corrects_bias = config_bool(s, "correct_bias");
    for (size_t i = 0; i < n_groups_of(c); i++)
        o.shares_momentum = o.shares_momentum || config_f64(group_section(c, i), "momentum") != 0;
    return o;
}

static optim_group group_settings(const config *c, size_t i, const optim_group *base)
{
    const config *s = group_section(c, i);
    optim_group g = *base;
    take_group(s, &g.optim);
    take_f64(s, "lr", &g.rates.base);
    g.optim.shares_momentum = g.optim.shares_momentum || base->optim.momentum != 0;
    return g;
}

optim_group *optim_groups_settings(const config *c, int64_t total_steps, size_t *ret_n)
{
    size_t n = 1 + n_groups_of(c);
    optim_group *groups = xcalloc(n, sizeof *groups);
    groups[0] = (optim_group){.optim = optim_settings(c), .rates = lr_schedule_settings(c, total_steps)};
    for (size_t i = 1; i < n; i++)
        groups[i] = group_settings(c, i - 1, &groups[0]);
    *ret_n = n;
    return groups;
}

lr_schedule lr_schedule_settings(const config *c, int64_t total_steps)
{
    const config *s = config_section(c, "trainer.learning_rate_scheduler");
    lr_schedule r = {
        .base = config_f64(c, "trainer.optimizer.lr"),
        .warmup_steps = config_int(s, "warmup_steps"),
        .total_steps = total_steps,
    };
    if (!lr_schedule_kind_of(config_str(s, "type"), &r.kind))
        BUG("the option table knows a learning-rate schedule that lr_schedule does not");
    switch (r.kind) {
    case LR_SCHEDULE_CONSTANT:
        break;
    case LR_SCHEDULE_STEP:
        r.step_size = config_int(s, "step_size");
        r.gamma = config_f64(s, "gamma");
        break;
    case LR_SCHEDULE_SLANTED_TRIANGULAR:
        r.cut_fraction = config_f64(s, "cut_frac");
        r.ratio = config_f64(s, "ratio");
        if (config_has(s, "total_steps"))
            r.total_steps = config_int(s, "total_steps");
        break;
    case LR_SCHEDULE_COSINE:
    case LR_SCHEDULE_LINEAR:
        r.minimum = config_f64(s, "minimum");
        if (config_has(s, "total_steps"))
            r.total_steps = config_int(s, "total_steps");
        break;
    }
    return r;
}

static uint8_t exponent_of(const json_t *power_of_two)
{
    return (uint8_t)ilogb(json_number_value(power_of_two));
}

loss_scale_rule loss_scale_settings(const config *c)
{
    const json_t *scale = config_json(c, "trainer.loss_scale");
    bool is_half = strcmp(config_str(c, "trainer.precision"), "f16") == 0;
    if (json_is_number(scale))
        return (loss_scale_rule){.start = exponent_of(scale)};
    if (!scale && !is_half)
        return (loss_scale_rule){.dynamic = false};
    return (loss_scale_rule){.dynamic = true,
                             .start = exponent_of(config_json(c, "trainer.loss_scale_start")),
                             .window = (uint32_t)config_int(c, "trainer.loss_scale_window")};
}

bool vote_settings(const config *c)
{
    return config_has(c, "trainer.grad_norm") || loss_scale_settings(c).dynamic;
}
