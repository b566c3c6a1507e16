#include "common/config/optimizer_constraints.h"

#include "common/base/alloc.h"

#include <string.h>

static status check_nesterov(const json_t *optimizer, error *err)
{
    if (json_is_true(json_object_get(optimizer, "nesterov")) &&
        (json_real_value(json_object_get(optimizer, "momentum")) <= 0 ||
         json_real_value(json_object_get(optimizer, "dampening")) != 0))
        return FAIL(err, E_CONFIG,
                    "trainer.optimizer.nesterov: needs momentum > 0 and dampening 0");
    return OK;
}

/* What a group changes the optimizer has. */
static status check_group(const json_t *optimizer, size_t g, const json_t *group, error *err)
{
    static const char *const keys[] = {"momentum", "betas", "eps", "weight_decay"};
    const json_t *momentum = json_object_get(group, "momentum");
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (!json_is_null(json_object_get(group, keys[i])) && !json_object_get(optimizer, keys[i]))
            return FAIL(err, E_CONFIG, "trainer.optimizer.parameter_groups[%zu].%s: the optimizer '%s' has none", g,
                        keys[i], json_string_value(json_object_get(optimizer, "type")));
    if (json_is_false(json_object_get(group, "use_muon")) &&
        strcmp(json_string_value(json_object_get(optimizer, "type")), "muon") != 0)
        return FAIL(err, E_CONFIG, "trainer.optimizer.parameter_groups[%zu].use_muon: the optimizer is '%s'", g,
                    json_string_value(json_object_get(optimizer, "type")));
    if (json_is_true(json_object_get(optimizer, "nesterov")) && json_is_real(momentum) &&
        json_real_value(momentum) <= 0)
        return FAIL(err, E_CONFIG,
                    "trainer.optimizer.parameter_groups[%zu].momentum: trainer.optimizer.nesterov needs more than 0",
                    g);
    return OK;
}

static status check_adafactor(const json_t *o, error *err)
{
    const bool relative = json_is_true(json_object_get(o, "relative_step"));
    const double rate = json_number_value(json_object_get(o, "lr"));
    if (relative && rate != 1.0)
        return FAIL(err, E_CONFIG,
                    "trainer.optimizer.lr: %g, but relative_step makes the rate; expected relative_step: false, or no "
                    "lr",
                    rate);
    if (!relative && json_is_true(json_object_get(o, "warmup_init")))
        return FAIL(err, E_CONFIG,
                    "trainer.optimizer.warmup_init: true, but relative_step is false; expected both or none");
    return OK;
}

status optimizer_constraints_check(const json_t *optimizer, error *err)
{
    const json_t *group;
    size_t g;
    TRY(check_nesterov(optimizer, err));
    TRY(check_adafactor(optimizer, err));
    json_array_foreach(json_object_get(optimizer, "parameter_groups"), g, group)
    {
        TRY(check_group(optimizer, g, group, err));
    }
    return OK;
}
