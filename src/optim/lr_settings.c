#include "optim/lr_settings.h"

#include "common/base/alloc.h"

#include <stdio.h>
#include <string.h>

/* The planned end, unless the section has another. */
static int64_t total_of(const config *s, training_span span)
{
    int64_t epochs = 0, total = span.steps;
    config_take_int(s, "num_epochs", &epochs);
    if (epochs && __builtin_mul_overflow(epochs, span.epoch_steps, &total))
        total = INT64_MAX;
    config_take_int(s, "total_steps", &total);
    return total;
}

static void take_milestones(const config *s, lr_schedule *ret)
{
    const json_t *list = config_json(s, "milestones");
    for (size_t i = 0; i < json_array_size(list) && i < LR_MILESTONES; i++)
        ret->milestones[ret->n_milestones++] = json_integer_value(json_array_get(list, i));
}

static lr_schedule schedule_of(const config *s, double base, training_span span)
{
    const char *unit = config_str(s, "unit");
    bool by_steps = strcmp(unit ? unit : config_str(s, "type"), "step") == 0;
    lr_schedule r = {.base = base,
                     .total_steps = total_of(s, span),
                     .unit_steps = by_steps ? 1 : span.epoch_steps,
                     .power = 1};
    if (!lr_schedule_kind_of(config_str(s, "type"), &r.kind))
        BUG("the option table knows a learning-rate schedule that lr_schedule does not");
    config_take_int(s, "warmup_steps", &r.warmup_steps);
    config_take_int(s, "step_size", &r.step_size);
    config_take_int(s, "t_initial", &r.first_cycle);
    take_milestones(s, &r);
    config_take_f64(s, "minimum", &r.minimum);
    config_take_f64(s, "eta_min", &r.minimum);
    config_take_f64(s, "end_learning_rate", &r.minimum);
    config_take_f64(s, "min_lr", &r.minimum);
    config_take_f64(s, "gamma", &r.gamma);
    config_take_f64(s, "cut_frac", &r.cut_fraction);
    config_take_f64(s, "pct_start", &r.cut_fraction);
    config_take_f64(s, "ratio", &r.ratio);
    config_take_f64(s, "div_factor", &r.start_ratio);
    config_take_f64(s, "final_div_factor", &r.end_ratio);
    config_take_f64(s, "t_mul", &r.cycle_factor);
    config_take_f64(s, "eta_mul", &r.base_factor);
    config_take_f64(s, "power", &r.power);
    config_take_f64(s, "num_cycles", &r.cycles);
    config_take_f64(s, "factor", &r.factor);
    config_take_f64(s, "model_size", &r.model_size);
    config_take_f64(s, "eps", &r.eps);
    return r;
}

/* --- combined --- */

static size_t n_parts_of(const config *c)
{
    return config_count(c, "trainer.learning_rate_scheduler.schedulers");
}

/* *ret_epochs: that it lasts. */
static const config *part_of(const config *c, size_t i, int64_t *ret_epochs)
{
    char path[80];
    snprintf(path, sizeof path, "trainer.learning_rate_scheduler.schedulers[%zu]", i);
    const config *part = config_section(c, path);
    *ret_epochs = config_int(part, "epochs");
    return config_section(part, "scheduler");
}

lr_sequence lr_settings(const config *c, training_span span)
{
    double base = config_f64(c, "trainer.optimizer.lr");
    lr_sequence r = {.steps = {0}};
    size_t n = n_parts_of(c);
    if (!n)
        r.schedules[0] = schedule_of(config_section(c, "trainer.learning_rate_scheduler"), base, span);
    for (size_t i = 0; i < n; i++) {
        int64_t epochs;
        const config *s = part_of(c, i, &epochs);
        if (__builtin_mul_overflow(epochs, span.epoch_steps, &r.steps[i]))
            r.steps[i] = INT64_MAX;
        r.schedules[i] = schedule_of(s, base, (training_span){r.steps[i], span.epoch_steps});
    }
    return r;
}

/* --- reduce_on_plateau --- */

/* Of the metric, if it is one; of the sum of several by their signs. */
static bool more_is_better(const config *c)
{
    const json_t *goal = config_json(c, "trainer.validation_metric");
    return json_is_array(goal) ? json_array_size(goal) > 1 || json_string_value(json_array_get(goal, 0))[0] == '+'
                               : json_string_value(goal)[0] == '+';
}

bool plateau_settings(const config *c, plateau_rule *ret)
{
    const config *s = config_section(c, "trainer.learning_rate_scheduler");
    int64_t first = 0, end = INT64_MAX;
    for (size_t i = 0, n = n_parts_of(c); i < n; i++) {
        int64_t epochs;
        s = part_of(c, i, &epochs);
        first = i ? end + 1 : 0;
        end = first + epochs - 1; /* what the last epoch's evaluation says comes too late */
    }
    *ret = (plateau_rule){.is_used = strcmp(config_str(s, "type"), "reduce_on_plateau") == 0};
    if (!ret->is_used)
        return false;
    ret->more_is_better = more_is_better(c);
    ret->is_relative = strcmp(config_str(s, "threshold_mode"), "rel") == 0;
    ret->threshold = config_f64(s, "threshold");
    ret->patience = config_int(s, "patience");
    ret->cooldown = config_int(s, "cooldown");
    ret->first_epoch = first;
    ret->end_epoch = end;
    return true;
}
