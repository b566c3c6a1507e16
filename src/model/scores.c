/*
 * How many scores a trained model gives, where no labels say so: the network is built for two
 * numbers of them, and what differs between the two tells what the number is to a parameter.
 */
#include "model/loss.h"
#include "model/model.h"

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

/* What the weight says, by the axis that differs between the twins; 0: nothing. */
static int64_t scores_of(const tensor_decl *two, const tensor_decl *three, const st_tensor *t,
                         bool *ret_depends)
{
    for (int32_t i = 0; i < two->rank; i++)
        if (two->dim[i] != three->dim[i]) {
            *ret_depends = true;
            return t && t->rank == two->rank ? solve(two->dim[i], three->dim[i], t->dim[i]) : 0;
        }
    return 0;
}

/* Of weights that are not the model's it is any number: the loader says what does not fit. */
static int64_t compare(const graph *two, const graph *three, const weights *w)
{
    int64_t scores = 0;
    bool depends = false;
    for (graph_val v = 0; v < graph_n_values(two) && !scores; v++) {
        const graph_value *value = graph_value_at(two, v);
        if (value->kind == VAL_PARAM)
            scores = scores_of(value->param, graph_value_at(three, v)->param,
                               weights_find(w, value->name), &depends);
    }
    return scores ? scores : depends ? 2 : 0;
}

/* As the loss sees it. */
static status look_for_labels(const model_request *request, bool *ret, error *err)
{
    arena *names = arena_create();
    model_loss loss;
    model_request r = *request;
    r.mode = MODEL_PREDICT;
    status st = loss_choose(&r, names, &loss, err);
    *ret = st == OK && loss.n_labels > 0;
    arena_destroy(&names);
    return st;
}

status model_scores(const model_request *request, const weights *w, int64_t *ret, error *err)
{
    graph *twins[2] = {NULL, NULL};
    bool has_labels;
    *ret = 0;
    TRY(look_for_labels(request, &has_labels, err));
    if (has_labels)
        return OK;
    status st = build_twins(request, twins, err);
    if (st == OK)
        *ret = compare(twins[0], twins[1], w);
    for (int i = 0; i < 2; i++)
        if (twins[i])
            graph_destroy(&twins[i]);
    return st;
}
