/* One model, once (evaluator.h). */
#include "evaluator/evaluation.h"
#include "evaluator/evaluator.h"

static status open_loaded(const evaluator_request *request, bool predicts, evaluation **ret,
                          error *err)
{
    evaluation_options how = {.config = request->config,
                              .data_path = request->data_path,
                              .part = request->part,
                              .batch_size = request->batch_size,
                              .batch_key = request->batch_key,
                              .vocabulary = request->vocabulary,
                              .details = request->details,
                              .whole_length = request->whole_length,
                              .device = request->device,
                              .stop = request->stop};
    evaluation *e = NULL;
    weights *w = NULL;
    TRY(weights_open(request->model, &w, err));
    how.predict = predicts ? w : NULL;
    status st = evaluation_open(&how, &e, err);
    if (st == OK)
        st = evaluation_load(e, w, err);
    weights_close(&w);
    if (st == OK)
        *ret = e;
    else
        evaluation_close(&e);
    return st;
}

status evaluator_count(const evaluator_request *request, int64_t share, int64_t shares, buf *ret, error *err)
{
    evaluation *e = NULL;
    TRY(open_loaded(request, false, &e, err));
    status st = evaluation_count(e, share, shares, err);
    if (st == OK)
        evaluation_save(e, ret);
    evaluation_close(&e);
    return st;
}

static status merge_other(evaluation *e, int64_t share, evaluator_other *other, void *user, error *err)
{
    buf bytes = BUF_INIT;
    status st = other(user, share, &bytes, err);
    if (st == OK)
        st = evaluation_merge(e, bytes.data, bytes.size, err);
    buf_fini(&bytes);
    return st;
}

status evaluator_evaluate(const evaluator_request *request, int64_t shares, evaluator_other *other, void *user,
                          metric_set *ret, metric_figures *ret_figures, json_t **ret_details, error *err)
{
    evaluation *e = NULL;
    TRY(open_loaded(request, false, &e, err));
    status st = evaluation_count(e, 0, shares, err);
    for (int64_t i = 1; i < shares && st == OK; i++)
        st = merge_other(e, i, other, user, err);
    if (st == OK)
        st = evaluation_check(e, err);
    if (st == OK)
        evaluation_results(e, ret, ret_figures);
    if (st == OK && ret_details)
        *ret_details = evaluation_take_details(e, ret_figures);
    evaluation_close(&e);
    return st;
}

status evaluator_predict(const evaluator_request *request, evaluation_taker *take, void *user,
                         error *err)
{
    evaluation *e = NULL;
    TRY(open_loaded(request, true, &e, err));
    status st = evaluation_predict(e, take, user, err);
    evaluation_close(&e);
    return st;
}
