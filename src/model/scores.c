/*
 * How many scores a trained model gives, where no labels say so: the network is built for two numbers
 * of them, and what differs between the two tells what the number is to a parameter.
 */
#include "model/model.h"

#include <string.h>

static status build_twins(const model_request *request, graph *ret[2], error *err)
{
    model_request r = *request;
    r.mode = MODEL_PREDICT;
    for (int i = 0; i < 2; i++) {
        r.scores = 2 + i;
        TRY(model_build(&r, &ret[i], err));
    }
    return OK;
}

/* An axis has size a * scores + b: `two` and `three` of them give a and b, `size` the scores. */
static int64_t solve(int64_t two, int64_t three, int64_t size)
{
    int64_t a = three - two, rest = size - (two - 2 * a);
    return a > 0 && rest > 0 && rest % a == 0 ? rest / a : 0;
}

static int64_t scores_of(const tensor_decl *two, const tensor_decl *three, const st_tensor *t)
{
    for (int32_t i = 0; t && t->rank == two->rank && i < two->rank; i++)
        if (two->dim[i] != three->dim[i])
            return solve(two->dim[i], three->dim[i], t->dim[i]);
    return 0;
}

static int64_t compare(const graph *two, const graph *three, const weights *w)
{
    int64_t scores = 0;
    for (graph_val v = 0; v < graph_n_values(two) && !scores; v++) {
        const graph_value *value = graph_value_at(two, v);
        if (value->kind == VAL_PARAM)
            scores = scores_of(value->param, graph_value_at(three, v)->param,
                               weights_find(w, value->name));
    }
    return scores;
}

static bool has_labels(const model_request *request)
{
    const json_t *names = config_json(request->model, "labels");
    const char *first = names ? json_string_value(json_array_get(names, 0)) : "label";
    for (size_t i = 0; i < request->n_fields; i++)
        if (first && strcmp(request->fields[i].name, first) == 0)
            return true;
    return false;
}

status model_scores(const model_request *request, const weights *w, int64_t *ret, error *err)
{
    graph *twins[2] = {NULL, NULL};
    *ret = 0;
    if (has_labels(request))
        return OK;
    status st = build_twins(request, twins, err);
    if (st == OK)
        *ret = compare(twins[0], twins[1], w);
    for (int i = 0; i < 2; i++)
        if (twins[i])
            graph_destroy(&twins[i]);
    return st;
}
