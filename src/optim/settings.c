#include "optim/settings.h"

#include "common/base/error.h"

#include <math.h>
#include <string.h>

static double beta(const config *section, size_t which)
{
    return json_number_value(json_array_get(config_json(section, "betas"), which));
}

optim optim_settings(const config *c)
{
    const config *s = config_section(c, "trainer.optimizer");
    optim o = {.weight_decay = config_f64(s, "weight_decay")};
    if (!optim_kind_of(config_str(s, "type"), &o.kind))
        BUG("the option table knows an optimizer that optim does not");
    switch (o.kind) {
    case OPTIM_SGD:
        o.momentum = config_f64(s, "momentum");
        o.dampening = config_f64(s, "dampening");
        o.nesterov = config_bool(s, "nesterov");
        break;
    case OPTIM_ADAM:
    case OPTIM_ADAMW:
        o.beta1 = beta(s, 0);
        o.beta2 = beta(s, 1);
        o.eps = config_f64(s, "eps");
        break;
    case OPTIM_ADAGRAD:
        o.eps = config_f64(s, "eps");
        o.lr_decay = config_f64(s, "lr_decay");
        o.initial_accumulator = config_f64(s, "initial_accumulator_value");
        break;
    case OPTIM_RMSPROP:
        o.eps = config_f64(s, "eps");
        o.alpha = config_f64(s, "alpha");
        o.centered = config_bool(s, "centered");
        o.momentum = config_f64(s, "momentum");
        break;
    }
    return o;
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
