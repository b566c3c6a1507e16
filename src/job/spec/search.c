#include "job/spec/search.h"

#include "job/spec/parameter_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
    arena *memory;
    schema_warn *warn; /* NULL: nobody is told */
    void *user;
    error *err;
} reading;

static const doc_node *given(const doc_node *map, const char *key)
{
    const doc_node *n = document_get(map, key);
    return n && n->kind != DOC_NULL ? n : NULL;
}

static const char *text_of(const doc_node *map, const char *key)
{
    const doc_node *n = given(map, key);
    return n ? n->text : NULL;
}

/* --- a parameter --- */

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void read_items(const reading *r, const doc_node *list, space_parameter *p)
{
    size_t n = list ? (size_t)list->n : 0;
    double *numbers = arena_alloc(r->memory, (n + 1) * sizeof *numbers);
    const char **words = arena_alloc(r->memory, (n + 1) * sizeof *words);
    for (size_t i = 0; i < n; i++) {
        words[i] = list->item[i]->text;
        numbers[i] = strtod(list->item[i]->text, NULL);
    }
    p->n = (int)n;
    if (p->kind == SPACE_CATEGORICAL) {
        p->words = words;
        return;
    }
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    p->numbers = numbers;
}

static const char *const list_of[] = {[SPACE_CATEGORICAL] = "categoricalValues", [SPACE_DISCRETE] = "discreteValues"};

/* A bound that says nothing would be an error that nobody sees. */
static status check_fields(const reading *r, const doc_node *node, space_kind kind)
{
    static const char *const fields[] = {"minValue", "maxValue", "categoricalValues", "discreteValues"};
    bool is_list = kind == SPACE_CATEGORICAL || kind == SPACE_DISCRETE;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        bool is_bound = i < 2, is_taken = is_bound ? !is_list : is_list && strcmp(fields[i], list_of[kind]) == 0;
        const doc_node *there = given(node, fields[i]);
        if (there && !is_taken && (is_bound || there->n))
            return DOC_FAIL(r->err, there, "is not for a parameter of type %s", text_of(node, "type"));
        if (!there && is_taken && is_bound)
            return DOC_FAIL(r->err, node, "%s is missing: a parameter of type %s has it", fields[i],
                            text_of(node, "type"));
    }
    return OK;
}

static status read_kind(const reading *r, const doc_node *node, space_kind *ret)
{
    static const char *const kinds[] = {"DOUBLE", "INTEGER", "CATEGORICAL", "DISCRETE"};
    const char *type = text_of(node, "type");
    for (size_t i = 0; type && i < COUNT_OF(kinds); i++)
        if (strcmp(type, kinds[i]) == 0) {
            *ret = (space_kind)i;
            return OK;
        }
    return DOC_FAIL(r->err, node, "type is missing: DOUBLE, INTEGER, CATEGORICAL or DISCRETE");
}

static void read_scale(const doc_node *node, space_parameter *p)
{
    const char *scale = text_of(node, "scaleType");
    p->is_scaled = scale && strcmp(scale, "NONE") != 0;
    p->scale = !p->is_scaled || strcmp(scale, "UNIT_LINEAR_SCALE") == 0 ? SPACE_LINEAR
               : strcmp(scale, "UNIT_LOG_SCALE") == 0                   ? SPACE_LOG
                                                                        : SPACE_REVERSE_LOG;
}

static status search_read_parameter(const reading *r, const doc_node *node, space_parameter *ret)
{
    space_parameter p = {.kind = SPACE_DOUBLE};
    const char *name = text_of(node, "parameterName"), *blamed = NULL;
    error why = ERROR_INIT;
    if (!name || !*name)
        return DOC_FAIL(r->err, node, "parameterName is missing: a key of the configuration, as trainer.optimizer.lr");
    const char *key = parameter_key(name);
    p.name = key ? key : name;
    TRY(read_kind(r, node, &p.kind));
    TRY(check_fields(r, node, p.kind));
    read_scale(node, &p);
    if (p.kind == SPACE_CATEGORICAL || p.kind == SPACE_DISCRETE) {
        read_items(r, given(node, list_of[p.kind]), &p);
    } else {
        p.min = strtod(text_of(node, "minValue"), NULL);
        p.max = strtod(text_of(node, "maxValue"), NULL);
    }
    if (space_parameter_check(&p, &blamed, &why) != OK) {
        const doc_node *place = given(node, blamed);
        return DOC_FAIL(r->err, place ? place : node, "%s", why.text);
    }
    *ret = p;
    return OK;
}

static bool is_same(const space_parameter *a, const space_parameter *b)
{
    json_t *x = space_describe(&(space){.at = a, .n = 1}), *y = space_describe(&(space){.at = b, .n = 1});
    bool is_same = json_equal(x, y);
    json_decref(x);
    json_decref(y);
    return is_same;
}

/* The last of n + 1 parameters stays unless it stands there already, word by word. */
static status take_once(const reading *r, const doc_node *node, space_parameter *at, int *n)
{
    static const field twice = {.name = "parameterName", .note = "the same parameter once more"};
    for (int k = 0; k < *n; k++) {
        if (strcmp(at[k].name, at[*n].name) != 0)
            continue;
        if (!is_same(&at[k], &at[*n]))
            return DOC_FAIL(r->err, node, "'%s' is searched twice", at[k].name);
        if (r->warn)
            r->warn(r->user, node, &twice);
        return OK;
    }
    ++*n;
    return OK;
}

static status search_read_space(const reading *r, const doc_node *spec, search *ret)
{
    const doc_node *params = given(spec, "params"), *alone = params;
    int n = !params ? 0 : params->kind == DOC_LIST ? params->n : 1;
    if (!n)
        return DOC_FAIL(r->err, params ? params : spec, "%sthere is nothing to search: no parameter",
                        params ? "" : "params: ");
    if (n > SPACE_PARAMETERS_MOST)
        return DOC_FAIL(r->err, params, "%d parameters; at most %d", n, SPACE_PARAMETERS_MOST);
    space_parameter *at = arena_alloc(r->memory, (size_t)n * sizeof *at);
    const char **names = arena_alloc(r->memory, (size_t)n * sizeof *names);
    int taken = 0;
    for (int i = 0; i < n; i++) {
        const doc_node *node = params->kind == DOC_LIST ? params->item[i] : alone;
        TRY(search_read_parameter(r, node, &at[taken]));
        names[taken] = text_of(node, "parameterName");
        TRY(take_once(r, node, at, &taken));
    }
    ret->space = (space){.at = at, .n = taken};
    ret->names = names;
    return OK;
}

/* --- the search --- */

static status read_count(const reading *r, const doc_node *spec, const char *key, int64_t least, int64_t *ret)
{
    enum { MOST = 1000000 };
    const doc_node *n = given(spec, key);
    *ret = n ? schema_whole(n) : -1;
    if (n && (*ret < least || *ret > MOST))
        return DOC_FAIL(r->err, n, "must be from %d to %d, not %s", (int)least, MOST, n->text);
    return OK;
}

static const struct {
    const char *word, *ours;
} algorithms[] = {
    {"GRID_SEARCH", "grid"},
    {"RANDOM_SEARCH", "random"},
};

static status read_algorithm(const reading *r, const doc_node *spec, search *s)
{
    const doc_node *n = given(spec, "algorithm");
    if (!n || strcmp(n->text, "ALGORITHM_UNSPECIFIED") == 0)
        return OK;
    for (size_t i = 0; i < COUNT_OF(algorithms); i++)
        if (strcmp(n->text, algorithms[i].word) == 0)
            s->algorithm = algorithms[i].ours;
    if (s->algorithm)
        return OK;
    return DOC_FAIL(r->err, n, "there is no %s; leave it out, or give GRID_SEARCH or RANDOM_SEARCH", n->text);
}

static int goal_of(const doc_node *spec)
{
    const char *goal = text_of(spec, "goal");
    return !goal ? 0 : strcmp(goal, "MAXIMIZE") == 0 ? 1 : strcmp(goal, "MINIMIZE") == 0 ? -1 : 0;
}

status search_read(const doc_node *spec, arena *memory, schema_warn *warn, void *user, search *ret, error *err)
{
    const reading r = {.memory = memory, .warn = warn, .user = user, .err = err};
    search s = {.better = goal_of(spec),
                .metric = text_of(spec, "hyperparameterMetricTag"),
                .previous = text_of(spec, "resumePreviousJobId")};
    TRY(read_count(&r, spec, "maxTrials", 1, &s.trials));
    TRY(read_count(&r, spec, "maxParallelTrials", 1, &s.parallel));
    TRY(read_count(&r, spec, "maxFailedTrials", 0, &s.failed_most));
    const doc_node *stops = given(spec, "enableTrialEarlyStopping");
    s.stops_early = stops && schema_bool(stops);
    TRY(read_algorithm(&r, spec, &s));
    TRY(search_read_space(&r, spec, &s));
    *ret = s;
    return OK;
}
