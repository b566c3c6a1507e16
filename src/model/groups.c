#include "model/groups.h"

#include "common/base/alloc.h"
#include "text/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The expressions of one list; those of a parameter that is named are looked for in turn. */
typedef struct expressions {
    const json_t *list;
    pattern **at; /* [n] */
    size_t n;
    pattern_scratch *scratch;
} expressions;

static void expressions_fini(expressions *e)
{
    for (size_t i = 0; e->at && i < e->n; i++)
        pattern_destroy(&e->at[i]);
    free(e->at);
    pattern_scratch_destroy(&e->scratch);
}

static status expressions_init(expressions *e, const json_t *list, const char *place, error *err)
{
    error why = ERROR_INIT;
    status st = OK;
    *e = (expressions){.list = list, .n = json_array_size(list), .scratch = pattern_scratch_create()};
    e->at = xcalloc(e->n + 1, sizeof *e->at);
    for (size_t i = 0; st == OK && i < e->n; i++)
        st = pattern_regex(json_string_value(json_array_get(list, i)), place, &e->at[i], &why);
    if (st == OK)
        return OK;
    expressions_fini(e);
    return FAIL(err, st == E_DATA ? E_CONFIG : st, "%s", why.text);
}

static status expression_matches(const expressions *e, size_t i, const char *name, bool *ret, error *err)
{
    uint32_t begin, end;
    return pattern_find(e->at[i], e->scratch, name, (uint32_t)strlen(name), 0, ret, &begin, &end, err);
}

static status any_matches(const expressions *e, const char *name, bool *ret, error *err)
{
    *ret = false;
    for (size_t i = 0; i < e->n && !*ret; i++)
        TRY(expression_matches(e, i, name, ret, err));
    return OK;
}

/* --- what does not move --- */

static status freeze_all(graph *g, const expressions *e, error *err)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        bool matches = false;
        if (value->kind == VAL_PARAM && value->param->kind == TENSOR_TRAINABLE)
            TRY(any_matches(e, value->name, &matches, err));
        if (matches)
            graph_freeze(g, v);
    }
    return OK;
}

static status freeze_named(graph *g, const json_t *list, const char *place, error *err)
{
    expressions e;
    TRY(expressions_init(&e, list, place, err));
    status st = freeze_all(g, &e, err);
    expressions_fini(&e);
    return st;
}

/* --- groups --- */

static status join(graph *g, const expressions *e, int32_t group, error *err)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        bool matches = false;
        if (value->kind == VAL_PARAM && value->param->kind == TENSOR_TRAINABLE)
            TRY(any_matches(e, value->name, &matches, err));
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

static status join_named(graph *g, const json_t *groups, size_t i, error *err)
{
    char place[96];
    expressions e;
    place_of(i, place, sizeof place);
    TRY(expressions_init(&e, json_object_get(json_array_get(groups, i), "parameters"), place, err));
    status st = join(g, &e, (int32_t)i + 1, err);
    expressions_fini(&e);
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

status groups_assign(graph *g, const json_t *no_grad, const json_t *optimizer, error *err)
{
    const json_t *groups = json_object_get(optimizer, "parameter_groups");
    bool spares = json_is_false(json_object_get(optimizer, "decay_norms_and_biases"));
    TRY(freeze_named(g, no_grad, "trainer.no_grad", err));
    for (size_t i = 0; i < json_array_size(groups); i++)
        TRY(join_named(g, groups, i, err));
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_PARAM || value->param->kind != TENSOR_TRAINABLE)
            continue;
        if (!requires_grad(groups, value->param->group))
            graph_freeze(g, v);
        else if (spares && is_norm_or_bias(value))
            graph_spare_decay(g, v);
    }
    return OK;
}

/* --- what no parameter matches --- */

static status list_unmatched(const expressions *e, const graph *g, const char *place, buf *ret, error *err)
{
    for (size_t i = 0; i < e->n; i++) {
        bool matches = false;
        for (graph_val v = 0; v < graph_n_values(g) && !matches; v++)
            if (graph_value_at(g, v)->kind == VAL_PARAM)
                TRY(expression_matches(e, i, graph_value_at(g, v)->name, &matches, err));
        if (!matches)
            buf_addf(ret, "%s%s: '%s'", ret->size ? ", " : "", place, json_string_value(json_array_get(e->list, i)));
    }
    return OK;
}

static status add_unmatched(const json_t *list, const char *place, const graph *g, buf *ret, error *err)
{
    expressions e;
    TRY(expressions_init(&e, list, place, err));
    status st = list_unmatched(&e, g, place, ret, err);
    expressions_fini(&e);
    return st;
}

status groups_unmatched(const config *job, const graph *g, buf *ret, error *err)
{
    const json_t *groups = config_json(job, "trainer.optimizer.parameter_groups");
    TRY(add_unmatched(config_json(job, "trainer.no_grad"), "trainer.no_grad", g, ret, err));
    for (size_t i = 0; i < json_array_size(groups); i++) {
        char place[96];
        place_of(i, place, sizeof place);
        TRY(add_unmatched(json_object_get(json_array_get(groups, i), "parameters"), place, g, ret, err));
    }
    return OK;
}
