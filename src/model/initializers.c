#include "model/initializers.h"

#include "common/base/detmath.h"
#include "model/name_patterns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct initializers {
    const config *model;
    json_t *list;
    name_patterns named, kept; /* kept: what no initializer may touch */
};

/* What a rule is made of: the parameter, and how many numbers one output reads and one input reaches. */
typedef struct drawing {
    const config *how; /* of its type */
    const tensor_decl *decl;
    double fan_in, fan_out;
} drawing;

json_t *initializers_patterns(const config *model)
{
    json_t *list = json_array();
    size_t i;
    json_t *item;
    json_array_foreach(config_json(model, "initializer.regexes"), i, item)
        json_array_append(list, json_object_get(item, "pattern"));
    return list;
}

void initializers_destroy(initializers **p)
{
    if (!*p)
        return;
    name_patterns_fini(&(*p)->named);
    name_patterns_fini(&(*p)->kept);
    json_decref((*p)->list);
    free(*p);
    *p = NULL;
}

status initializers_create(const config *model, initializers **ret, error *err)
{
    *ret = NULL;
    if (!config_section(model, "initializer"))
        return OK;
    initializers *p = xcalloc(1, sizeof *p);
    p->model = model;
    p->list = initializers_patterns(model);
    status st = name_patterns_init(&p->named, p->list, "model.initializer.regexes", model, err);
    if (st == OK)
        st = name_patterns_init(&p->kept, config_json(model, "initializer.prevent_regexes"),
                                "model.initializer.prevent_regexes", model, err);
    if (st == OK)
        *ret = p;
    else
        initializers_destroy(&p);
    return st;
}

/* --- rules, as torch.nn.init has them --- */

static init_rule uniform_within(double bound)
{
    return (init_rule){.kind = INIT_UNIFORM, .a = (float)-bound, .b = (float)bound};
}

static init_rule normal(double mean, double deviation)
{
    return (init_rule){.kind = INIT_NORMAL, .a = (float)mean, .b = (float)deviation};
}

static init_rule rule_normal(const drawing *d)
{
    return normal(config_f64(d->how, "mean"), config_f64(d->how, "std"));
}

static init_rule rule_uniform(const drawing *d)
{
    return (init_rule){
        .kind = INIT_UNIFORM, .a = (float)config_f64(d->how, "a"), .b = (float)config_f64(d->how, "b")};
}

static init_rule rule_constant(const drawing *d)
{
    return (init_rule){.kind = INIT_CONSTANT, .a = (float)config_f64(d->how, "val")};
}

static init_rule rule_zero(const drawing *d)
{
    (void)d;
    return (init_rule){.kind = INIT_CONSTANT, .a = 0.0f};
}

/* Glorot and Bengio, 2010. */
static init_rule rule_xavier_uniform(const drawing *d)
{
    return uniform_within(config_f64(d->how, "gain") * det_sqrt(6.0 / (d->fan_in + d->fan_out)));
}

static init_rule rule_xavier_normal(const drawing *d)
{
    return normal(0.0, config_f64(d->how, "gain") * det_sqrt(2.0 / (d->fan_in + d->fan_out)));
}

/* The square of the gain, for activations of which PyTorch knows one, over a fan: He et al., 1502.01852. */
static double kaiming_variance(const drawing *d)
{
    const char *behind = config_str(d->how, "nonlinearity");
    double slope = config_f64(d->how, "a"), square = 1.0;
    if (strcmp(behind, "leaky_relu") == 0)
        square = 2.0 / (1.0 + slope * slope);
    else if (strcmp(behind, "relu") == 0)
        square = 2.0;
    else if (strcmp(behind, "tanh") == 0)
        square = 25.0 / 9.0;
    return square / (strcmp(config_str(d->how, "mode"), "fan_in") == 0 ? d->fan_in : d->fan_out);
}

static init_rule rule_kaiming_uniform(const drawing *d)
{
    return uniform_within(det_sqrt(3.0 * kaiming_variance(d)));
}

static init_rule rule_kaiming_normal(const drawing *d)
{
    return normal(0.0, det_sqrt(kaiming_variance(d)));
}

static init_rule rule_of_layer(const drawing *d)
{
    return d->decl->init;
}

static const struct {
    const char *type;
    init_rule (*rule)(const drawing *d);
    bool has_fans;
} rules[] = {
    {"normal", rule_normal, false},
    {"uniform", rule_uniform, false},
    {"constant", rule_constant, false},
    {"zero", rule_zero, false},
    {"xavier_uniform", rule_xavier_uniform, true},
    {"xavier_normal", rule_xavier_normal, true},
    {"kaiming_uniform", rule_kaiming_uniform, true},
    {"kaiming_normal", rule_kaiming_normal, true},
    {"prevent", rule_of_layer, false},
};

/* --- */

static status draw(const config *item, tensor_decl *decl, error *err)
{
    drawing d = {.how = config_section(item, "initializer"), .decl = decl};
    double window = 1.0;
    size_t i = 0;
    while (strcmp(rules[i].type, config_str(d.how, "type")) != 0)
        i++;
    if (rules[i].has_fans && decl->rank < 2)
        return FAIL(err, E_CONFIG,
                    "%s: %s counts inputs and outputs, and '%s' is a row of numbers; give it a pattern of its own "
                    "before this one, as zero",
                    config_path(item), rules[i].type, decl->name);
    for (int32_t axis = 2; axis < decl->rank; axis++)
        window *= (double)decl->dim[axis];
    d.fan_in = decl->rank < 2 ? 0.0 : (double)decl->dim[1] * window;
    d.fan_out = decl->rank < 2 ? 0.0 : (double)decl->dim[0] * window;
    decl->init = rules[i].rule(&d);
    return OK;
}

status initializers_apply(const initializers *p, tensor_decl *decl, error *err)
{
    bool matches = decl->kind != TENSOR_TRAINABLE;
    if (!matches)
        TRY(name_patterns_any(&p->kept, decl->name, &matches, err));
    for (size_t i = 0; i < p->named.n && !matches; i++) {
        char item[64];
        snprintf(item, sizeof item, "initializer.regexes[%zu]", i);
        TRY(name_patterns_match(&p->named, i, decl->name, &matches, err));
        if (matches)
            TRY(draw(config_section(p->model, item), decl, err));
    }
    return OK;
}
