#include "optim/settings.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"
#include "optim/whole.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a section says of the optimizer; a key that it does not have, or that is null, stays as it is. */
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
    config_take_f64(s, "weight_decay", &ret->weight_decay);
    config_take_f64(s, "momentum", &ret->momentum);
    config_take_f64(s, "eps", &ret->eps);
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

static optim_average average_settings(const config *c)
{
    const config *s = config_section(c, "trainer.moving_average");
    if (!s)
        return (optim_average){.is_kept = false};
    return (optim_average){.is_kept = true,
                           .decay = config_f64(s, "decay"),
                           .numerator = config_f64(s, "numerator"),
                           .denominator = config_f64(s, "denominator")};
}

optim optim_settings(const config *c)
{
    const config *s = config_section(c, "trainer.optimizer");
    optim o = {0};
    if (!optim_kind_of(config_str(s, "type"), &o.kind))
        BUG("the option table knows an optimizer that optim does not");
    take_group(s, &o);
    config_take_f64(s, "dampening", &o.dampening);
    config_take_f64(s, "alpha", &o.alpha);
    config_take_f64(s, "rho", &o.alpha);
    config_take_f64(s, "momentum_decay", &o.momentum_decay);
    config_take_f64(s, "l1_regularization_strength", &o.l1);
    config_take_f64(s, "l2_regularization_strength", &o.l2);
    config_take_f64(s, "lr_decay", &o.lr_decay);
    config_take_f64(s, "trust_coefficient", &o.trust_coefficient);
    config_take_f64(s, "initial_accumulator_value", &o.initial_accumulator);
    config_take_f64(s, "beta1", &o.momentum);
    config_take_f64(s, "eps_scale", &o.eps_scale);
    config_take_f64(s, "clip_threshold", &o.clip_threshold);
    config_take_f64(s, "decay_rate", &o.decay_rate);
    config_take_int(s, "ns_steps", &o.ns_steps);
    o.scales_parameter = config_bool(s, "scale_parameter");
    o.relative_step = config_bool(s, "relative_step");
    o.warmup_init = config_bool(s, "warmup_init");
    o.matches_rms = o.kind == OPTIM_MUON && strcmp(config_str(s, "adjust_lr"), "match_rms_adamw") == 0;
    o.is_decoupled = config_bool(s, "decoupled_weight_decay");
    o.nesterov = config_bool(s, "nesterov");
    o.centered = config_bool(s, "centered");
    o.corrects_bias = config_bool(s, "correct_bias");
    o.average = average_settings(c);
    for (size_t i = 0; i < n_groups_of(c); i++)
        o.shares_momentum = o.shares_momentum || config_f64(group_section(c, i), "momentum") != 0;
    return o;
}

static momentum_schedule momentum_settings(const config *c, training_span span)
{
    const config *s = config_section(c, "trainer.momentum_scheduler");
    momentum_schedule m = {.unit_steps = span.epoch_steps};
    if (s) {
        config_take_int(s, "cool_down", &m.cool_down);
        config_take_int(s, "warm_up", &m.warm_up);
        config_take_f64(s, "ratio", &m.ratio);
    }
    return m;
}

/* --- groups --- */

static optim_group group_settings(const config *c, size_t i, const optim_group *base)
{
    const config *s = group_section(c, i);
    optim_group g = *base;
    take_group(s, &g.optim);
    config_take_f64(s, "lr", &g.rates.schedules[0].base);
    g.optim.by_adamw = !config_bool(s, "use_muon");
    g.optim.shares_momentum = g.optim.shares_momentum || base->optim.momentum != 0;
    return g;
}

/* A tensor that no group names; -1: there is none. */
static int32_t ungrouped(const flat *f)
{
    for (int32_t i = 0; i < f->n_tensors; i++)
        if (f->tensors[i].kind == TENSOR_TRAINABLE && !f->tensors[i].group)
            return i;
    return -1;
}

/* From the last group to the first, each one's rate is a share of the next one's. */
static void tune_rates(optim_group *groups, size_t n, bool has_default, double factor)
{
    double share = 1.0;
    for (size_t k = 0; k < n; k++) {
        size_t i = k ? n - k : 0; /* the default group is the last */
        if (!i && !has_default)
            continue;
        groups[i].rates.schedules[0].base *= share;
        share *= factor;
    }
}

/* One group more moves in each epoch, from the last to the first. */
static void unfreeze_in_turn(optim_group *groups, size_t n, training_span span)
{
    for (size_t i = 0; i < n; i++) {
        groups[i].rates.schedules[0].frozen_units = (int64_t)n - 2;
        groups[i].frozen_steps = i ? (int64_t)(n - 1 - i) * span.epoch_steps : 0;
    }
}

static status tune_finely(const config *c, const flat *f, training_span span, optim_group *groups, size_t n,
                          error *err)
{
    const config *s = config_section(c, "trainer.learning_rate_scheduler");
    bool tunes = config_bool(s, "discriminative_fine_tuning"), unfreezes = config_bool(s, "gradual_unfreezing");
    int32_t other = ungrouped(f);
    if (!tunes && !unfreezes)
        return OK;
    if (n < 3)
        return FAIL(err, E_CONFIG,
                    "trainer.learning_rate_scheduler.%s: expected two or more of trainer.optimizer.parameter_groups",
                    tunes ? "discriminative_fine_tuning" : "gradual_unfreezing");
    if (unfreezes && other >= 0)
        return FAIL(err, E_CONFIG,
                    "trainer.learning_rate_scheduler.gradual_unfreezing: '%s' is in none of "
                    "trainer.optimizer.parameter_groups; expected that all are in one",
                    f->tensors[other].name);
    if (tunes)
        tune_rates(groups, n, other >= 0, config_f64(s, "decay_factor"));
    if (unfreezes)
        unfreeze_in_turn(groups, n, span);
    return OK;
}

/* Of each layer the same groups, with its share of their rates. How deep the model is its tensors say. */
static void share_rates(const config *c, const flat *f, optim_group **groups, size_t *n)
{
    double decay = 1.0;
    size_t own = *n, most = 0;
    for (size_t i = 0; i < own; i++)
        (*groups)[i].share = 1.0;
    if (!config_has(c, "trainer.optimizer.layer_decay"))
        return;
    decay = config_f64(c, "trainer.optimizer.layer_decay");
    for (int32_t i = 0; i < f->n_tensors; i++)
        most = (size_t)f->tensors[i].group > most ? (size_t)f->tensors[i].group : most;
    *n = own * (most / own + 1);
    *groups = xrealloc(*groups, *n * sizeof **groups);
    for (size_t i = own; i < *n; i++) {
        (*groups)[i] = (*groups)[i % own];
        (*groups)[i].share = det_pow(decay, (double)(i / own));
    }
}

status optim_groups_settings(const config *c, const flat *f, training_span span, optim_group **ret, size_t *ret_n,
                             error *err)
{
    size_t n = 1 + n_groups_of(c);
    optim_group *groups = xcalloc(n, sizeof *groups);
    groups[0] = (optim_group){.optim = optim_settings(c),
                              .rates = lr_settings(c, span),
                              .momentum = momentum_settings(c, span)};
    for (size_t i = 1; i < n; i++)
        groups[i] = group_settings(c, i - 1, &groups[0]);
    status st = tune_finely(c, f, span, groups, n, err);
    if (st != OK) {
        free(groups);
        return st;
    }
    share_rates(c, f, &groups, &n);
    *ret = groups;
    *ret_n = n;
    return OK;
}

status optim_memory(const config *c, const flat *f, size_t *ret, error *err)
{
    optim_group *groups;
    size_t n;
    TRY(optim_groups_settings(c, f, (training_span){.steps = 1, .epoch_steps = 1}, &groups, &n, err));
    *ret = whole_room(f, groups) * sizeof(float);
    free(groups);
    return OK;
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
    plateau_rule rule;
    return config_has(c, "trainer.grad_norm") || loss_scale_settings(c).dynamic || plateau_settings(c, &rule);
}
