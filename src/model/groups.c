#include "model/groups.h"

#include "model/initializers.h"
#include "model/name_patterns.h"
#include "optim/whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what does not move --- */

static status freeze_all(graph *g, const name_patterns *p, error *err)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        bool matches = false;
        if (value->kind == VAL_PARAM && value->param->kind == TENSOR_TRAINABLE)
            TRY(name_patterns_any(p, value->name, &matches, err));
        if (matches)
            graph_freeze(g, v);
    }
    return OK;
}

static status freeze_named(graph *g, const config *model, const json_t *list, const char *place, error *err)
{
    name_patterns p;
    TRY(name_patterns_init(&p, list, place, model, err));
    status st = freeze_all(g, &p, err);
    name_patterns_fini(&p);
    return st;
}

/* --- groups --- */

static status join(graph *g, const name_patterns *p, int32_t group, error *err)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        bool matches = false;
        if (value->kind == VAL_PARAM && value->param->kind == TENSOR_TRAINABLE)
            TRY(name_patterns_any(p, value->name, &matches, err));
        if (matches && value->param->group)
            return FAIL(err, E_CONFIG,
                        "trainer.optimizer.parameter_groups: '%s' is matched by the groups %d and %d; a parameter "
                        "is in one",
                        value->name, value->param->group - 1, group - 1);
        if (matches)
            graph_set_group(g, v, group);
    }
    return OK;
}

static void place_of(size_t group, char *ret, size_t bytes)
{
    snprintf(ret, bytes, "trainer.optimizer.parameter_groups[%zu].parameters", group);
}

static status join_named(graph *g, const config *model, const json_t *groups, size_t i, error *err)
{
    char place[96];
    name_patterns p;
    place_of(i, place, sizeof place);
    TRY(name_patterns_init(&p, json_object_get(json_array_get(groups, i), "parameters"), place, model, err));
    status st = join(g, &p, (int32_t)i + 1, err);
    name_patterns_fini(&p);
    return st;
}

static bool requires_grad(const json_t *groups, int32_t group)
{
    return !group || json_is_true(json_object_get(json_array_get(groups, (size_t)group - 1), "requires_grad"));
}

/* Biases, and the scales and shifts of normalisations. */
static bool is_norm_or_bias(const graph_value *value)
{
    size_t n = strlen(value->name);
    return value->shape.rank <= 1 || (n >= 5 && strcmp(value->name + n - 5, ".bias") == 0);
}

static bool needs_whole(const json_t *optimizer)
{
    const char *type = json_string_value(json_object_get(optimizer, "type"));
    optim o = {0};
    return type && optim_kind_of(type, &o.kind) && optim_is_whole(&o);
}

status groups_assign(graph *g, const config *model, const json_t *no_grad, const json_t *optimizer, error *err)
{
    bool is_whole = needs_whole(optimizer);
    const json_t *groups = json_object_get(optimizer, "parameter_groups");
    bool spares = json_is_false(json_object_get(optimizer, "decay_norms_and_biases"));
    TRY(freeze_named(g, model, no_grad, "trainer.no_grad", err));
    for (size_t i = 0; i < json_array_size(groups); i++)
        TRY(join_named(g, model, groups, i, err));
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_PARAM || value->param->kind != TENSOR_TRAINABLE)
            continue;
        if (!requires_grad(groups, value->param->group))
            graph_freeze(g, v);
        else if (spares && is_norm_or_bias(value))
            graph_spare_decay(g, v);
        if (is_whole && value->param->kind == TENSOR_TRAINABLE)
            graph_keep_whole(g, v);
    }
    return OK;
}

/* --- what no parameter matches --- */

static status list_unmatched(const name_patterns *p, const graph *g, const char *place, buf *ret, error *err)
{
    for (size_t i = 0; i < p->n; i++) {
        bool matches = false;
        for (graph_val v = 0; v < graph_n_values(g) && !matches; v++)
            if (graph_value_at(g, v)->kind == VAL_PARAM)
                TRY(name_patterns_match(p, i, graph_value_at(g, v)->name, &matches, err));
        if (!matches)
            buf_addf(ret, "%s%s: '%s'", ret->size ? ", " : "", place, json_string_value(json_array_get(p->list, i)));
    }
    return OK;
}

static status add_unmatched(const config *job, const json_t *list, const char *place, const graph *g, buf *ret,
                            error *err)
{
    name_patterns p;
    TRY(name_patterns_init(&p, list, place, config_section(job, "model"), err));
    status st = list_unmatched(&p, g, place, ret, err);
    name_patterns_fini(&p);
    return st;
}

status groups_unmatched(const config *job, const graph *g, buf *ret, error *err)
{
    const json_t *groups = config_json(job, "trainer.optimizer.parameter_groups");
    json_t *first = initializers_patterns(config_section(job, "model"));
    status st = add_unmatched(job, config_json(job, "trainer.no_grad"), "trainer.no_grad", g, ret, err);
    if (st == OK)
        st = add_unmatched(job, first, "model.initializer.regexes", g, ret, err);
    for (size_t i = 0; i < json_array_size(groups) && st == OK; i++) {
        char place[96];
        place_of(i, place, sizeof place);
        st = add_unmatched(job, json_object_get(json_array_get(groups, i), "parameters"), place, g, ret, err);
    }
    json_decref(first);
    return st;
}
